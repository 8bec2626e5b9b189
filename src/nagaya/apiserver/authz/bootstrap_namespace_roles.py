"""The default Roles and RoleBindings, by namespace.

The form of the tables is told in `policy_table`.
"""

from __future__ import annotations

from typing import Final

ROLES: Final = {
    "kube-system": """\
extension-apiserver-authentication-reader
  read | core | configmaps | extension-apiserver-authentication
system:controller:bootstrap-signer
  read | core | secrets
system:controller:cloud-provider
  create,get,list,watch | core | configmaps
system:controller:token-cleaner
  delete,get,list,watch | core | secrets
  record events
system::leader-locking-kube-controller-manager
  create,get,list,update,watch | coordination.k8s.io | leases
  create,get,list,update,watch | coordination.k8s.io | leasecandidates
system::leader-locking-kube-scheduler
  create,get,list,update,watch | coordination.k8s.io | leases
  create,get,list,update,watch | coordination.k8s.io | leasecandidates
""",
    "kube-public": """\
system:controller:bootstrap-signer
  read | core | configmaps
  update | core | configmaps | cluster-info
  record events
""",
}

ROLE_BINDINGS: Final = {
    "kube-system": """\
system::extension-apiserver-authentication-reader = extension-apiserver-authentication-reader:
      User system:kube-controller-manager, User system:kube-scheduler
system::leader-locking-kube-controller-manager: User system:kube-controller-manager,
      ServiceAccount kube-system/kube-controller-manager,
      ServiceAccount kube-system/leader-election-controller
system::leader-locking-kube-scheduler: User system:kube-scheduler, ServiceAccount kube-system/kube-scheduler
system:controller:bootstrap-signer: ServiceAccount kube-system/bootstrap-signer
system:controller:cloud-provider: ServiceAccount kube-system/cloud-provider
system:controller:token-cleaner: ServiceAccount kube-system/token-cleaner
""",
    "kube-public": """\
system:controller:bootstrap-signer: ServiceAccount kube-system/bootstrap-signer
""",
}
