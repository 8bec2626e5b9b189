"""The default ClusterRoles that people and their tools are bound to.

The form of the tables is told in `policy_table`.
"""

from __future__ import annotations

from typing import Final

CLUSTER_ROLES: Final = """\
cluster-admin
  * | * | *
  * | paths | *
system:discovery
  get | paths | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
system:monitoring
  get | paths | /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz
  get | core | nodes/metrics
system:basic-user
  create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews
  create | authentication.k8s.io | selfsubjectreviews
system:public-info-viewer
  get | paths | /healthz /livez /readyz /version /version/
admin < admin
edit > admin < edit
view > edit < view
system:aggregate-to-admin > admin
  create | authorization.k8s.io | localsubjectaccessreviews
  read+write | rbac.authorization.k8s.io | rolebindings roles
system:aggregate-to-edit > edit
  read | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
  impersonate | core | serviceaccounts
  write | core | pods pods/attach pods/exec pods/portforward pods/proxy
  create | core | pods/eviction
  write | core | configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets
      serviceaccounts services services/proxy
  create | core | serviceaccounts/token
  write | core,events.k8s.io | events
  write | apps | daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale
      statefulsets statefulsets/scale
  write | autoscaling | horizontalpodautoscalers
  write | batch | cronjobs jobs
  write | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies
      replicasets replicasets/scale replicationcontrollers/scale
  write | policy | poddisruptionbudgets
  write | networking.k8s.io | ingresses networkpolicies
  read+write | coordination.k8s.io | leases
  write | resource.k8s.io | resourceclaims resourceclaimtemplates
system:aggregate-to-view > view
  read | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods
      replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status
  read | core | bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status
      resourcequotas resourcequotas/status
  read | core | namespaces
  read | core,events.k8s.io | events
  read | discovery.k8s.io | endpointslices
  read | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale
      deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale
      statefulsets/status
  read | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status
  read | batch | cronjobs cronjobs/status jobs jobs/status
  read | extensions | daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses
      ingresses/status networkpolicies replicasets replicasets/scale replicasets/status
      replicationcontrollers/scale
  read | policy | poddisruptionbudgets poddisruptionbudgets/status
  read | networking.k8s.io | ingresses ingresses/status networkpolicies
  read | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates
"""

CLUSTER_ROLE_BINDINGS: Final = """\
cluster-admin: Group system:masters
system:monitoring: Group system:monitoring
system:discovery: Group system:authenticated
system:basic-user: Group system:authenticated
system:public-info-viewer: Group system:authenticated, Group system:unauthenticated
"""
