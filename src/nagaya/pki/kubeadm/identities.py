"""Who the users and components of a cluster are when they talk to its API: the kubeconfigs of a control plane.

`admin.conf` is bound by RBAC and can be cut off; `super-admin.conf` is above RBAC, for when RBAC itself is broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from nagaya.pki.certificates import LEAF_VALIDITY, CertificateSpec
from nagaya.pki.usages import Usage

CLUSTER_ADMINS: Final = "kubeadm:cluster-admins"
"""The group that the set-up of a cluster binds to `cluster-admin`."""
PRIVILEGED: Final = "system:masters"
"""The group that the API server lets do anything, whatever RBAC says."""
NODES: Final = "system:nodes"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and its groups, and the file that it has its kubeconfig in."""

    file: str
    user: str
    groups: tuple[str, ...] = ()
    local: bool = False
    """Whether it talks to the API server beside it, not to whichever answers."""

    def spec(self, validity: timedelta = LEAF_VALIDITY) -> CertificateSpec:
        """What its client certificate says."""
        usages = (Usage.DIGITAL_SIGNATURE, Usage.KEY_ENCIPHERMENT, Usage.CLIENT_AUTH)
        return CertificateSpec(self.user, self.groups, usages, validity=validity, since_authority=True)


ADMIN: Final = Identity("admin.conf", "kubernetes-admin", (CLUSTER_ADMINS,))
SUPER_ADMIN: Final = Identity("super-admin.conf", "kubernetes-super-admin", (PRIVILEGED,))
CONTROLLER_MANAGER: Final = Identity("controller-manager.conf", "system:kube-controller-manager", local=True)
SCHEDULER: Final = Identity("scheduler.conf", "system:kube-scheduler", local=True)
KONNECTIVITY_SERVER: Final = Identity("konnectivity-server.conf", "system:konnectivity-server", local=True)
"""Not one of kubeadm's: the proxy through which a hosted API server reaches kubelets asks who the agents are."""


def kubelet(node_name: str) -> Identity:
    """The kubelet of a control plane machine. Other machines get theirs by a signing request when they join."""
    return Identity("kubelet.conf", f"system:node:{node_name}", (NODES,), local=True)
