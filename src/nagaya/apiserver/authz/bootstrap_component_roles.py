"""The default ClusterRoles of Kubernetes' own programs: nodes, scheduler, controller manager, DNS, certificates.

The form of the tables is told in `policy_table`. The rules of `system:node` are also what the node authorizer falls
back on.
"""

from __future__ import annotations

from typing import Final

CLUSTER_ROLES: Final = """\
system:heapster
  read | core | events namespaces nodes pods
  read | extensions | deployments
system:node
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews
  read | core | services
  create,get,list,watch | core | nodes
  patch,update | core | nodes/status
  patch,update | core | nodes
  record events
  read | core | pods
  create,delete | core | pods
  patch,update | core | pods/status
  create | core | pods/eviction
  read | core | configmaps secrets
  get | core | persistentvolumeclaims persistentvolumes
  get | core | endpoints
  create,get,list,watch | certificates.k8s.io | certificatesigningrequests
  create,delete,get,patch,update | coordination.k8s.io | leases
  get | storage.k8s.io | volumeattachments
  create | core | serviceaccounts/token
  get,patch,update | core | persistentvolumeclaims/status
  read | storage.k8s.io | csidrivers
  create,delete,get,patch,update | storage.k8s.io | csinodes
  read | node.k8s.io | runtimeclasses
  get | resource.k8s.io | resourceclaims
  deletecollection | resource.k8s.io | resourceslices
  get | core | serviceaccounts
system:node-problem-detector
  get | core | nodes
  patch | core | nodes/status
  record events
system:node-bootstrapper
  create,get,list,watch | certificates.k8s.io | certificatesigningrequests
system:auth-delegator
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
system:kube-aggregator
  read | core | endpoints services
system:kube-controller-manager
  record events
  create | coordination.k8s.io | leases
  get,update | coordination.k8s.io | leases | kube-controller-manager
  create | core | secrets serviceaccounts
  delete | core | secrets
  get | core | configmaps namespaces secrets serviceaccounts
  update | core | secrets serviceaccounts
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
  list,watch | * | *
  create | core | serviceaccounts/token
system:kube-dns
  list,watch | core | endpoints services
system:persistent-volume-provisioner
  create,delete,get,list,watch | core | persistentvolumes
  get,list,update,watch | core | persistentvolumeclaims
  read | storage.k8s.io | storageclasses
  watch | core | events
  record events
system:certificates.k8s.io:certificatesigningrequests:nodeclient
  create | certificates.k8s.io | certificatesigningrequests/nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient
  create | certificates.k8s.io | certificatesigningrequests/selfnodeclient
system:volume-scheduler
  get,list,patch,update,watch | core | persistentvolumes
  read | storage.k8s.io | storageclasses
  get,list,patch,update,watch | core | persistentvolumeclaims
system:certificates.k8s.io:legacy-unknown-approver
  approve | certificates.k8s.io | signers | kubernetes.io/legacy-unknown
system:certificates.k8s.io:kubelet-serving-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kubelet-serving
system:certificates.k8s.io:kube-apiserver-client-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver
  approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet
system:service-account-issuer-discovery
  get | paths | /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/
system:kubelet-api-admin
  read | core | nodes
  proxy | core | nodes
  * | core | nodes/log nodes/metrics nodes/proxy nodes/stats
  * | core | nodes/configz nodes/healthz nodes/pods
system:node-proxier
  list,watch | core | endpoints services
  read | core | nodes
  record events
  list,watch | networking.k8s.io | servicecidrs
  list,watch | discovery.k8s.io | endpointslices
system:kube-scheduler
  record events
  create | coordination.k8s.io | leases
  get,list,update,watch | coordination.k8s.io | leases | kube-scheduler
  read+write | coordination.k8s.io | leasecandidates
  read | core | nodes
  delete,get,list,watch | core | pods
  create | core | bindings pods/binding
  patch,update | core | pods/status
  read | core | replicationcontrollers services
  read | apps,extensions | replicasets
  read | apps | statefulsets
  read | policy | poddisruptionbudgets
  read | core | persistentvolumeclaims persistentvolumes
  create | authentication.k8s.io | tokenreviews
  create | authorization.k8s.io | subjectaccessreviews
  read | storage.k8s.io | csinodes
  read | storage.k8s.io | volumeattachments
  read | core | namespaces
  read | storage.k8s.io | csidrivers
  read | storage.k8s.io | csistoragecapacities
  read | resource.k8s.io | deviceclasses
  get,list,patch,update,watch | resource.k8s.io | resourceclaims
  get,list,patch,update,watch | resource.k8s.io | resourceclaims/status
  update | core | pods/finalizers
  read | resource.k8s.io | resourceslices
  create,delete | resource.k8s.io | resourceclaims
  patch,update | resource.k8s.io | resourceclaims/binding
"""

CLUSTER_ROLE_BINDINGS: Final = """\
system:node-proxier: User system:kube-proxy
system:kube-controller-manager: User system:kube-controller-manager
system:kube-dns: ServiceAccount kube-system/kube-dns
system:kube-scheduler: User system:kube-scheduler
system:volume-scheduler: User system:kube-scheduler
system:node:
system:service-account-issuer-discovery: Group system:serviceaccounts
"""
