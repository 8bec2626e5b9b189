"""What a control plane does inside its tenant, as the calls it makes; somebody else carries them out.

Each call may be the last one before a crash and is made again afterwards: all of them are safe to repeat. A call that
fails raises WorkloadError with a sentence for people.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.controlplane.kubeadm_control_plane import KubeadmControlPlane
from nagaya.controlplane.kubeadm.tenant_seen import MemberSeen, TenantSeen
from nagaya.kube.key import Key


class WorkloadError(Exception):
    """Something in the tenant could not be read or changed."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be looked at."""

    nodes: frozenset[str] = frozenset()
    """The names of Nodes that machines refer to."""
    provider_ids: frozenset[str] = frozenset()
    """Provider ids of machines that do not refer to a Node yet."""
    etcd_on: tuple[str, ...] = ()
    """The Nodes to ask etcd through, those that are most likely to answer first. Empty: etcd is not asked."""
    pods: bool = True
    """Whether static pods and etcd matter; else it is only about Nodes and whether kubeadm-config is there."""


class Workload(Protocol):
    """A tenant that can be talked to at this moment."""

    async def look(self, question: Question) -> TenantSeen:
        """Look at it. Raises nothing but what cancels: what cannot be found out is told in the answer."""
        ...

    async def move_leader(self, leader: str, candidates: Sequence[str]) -> str:
        """Have etcd's leader, the member on a Node, hand over to the first candidate that takes it; returns which one.
        If it leads no longer nothing happens, and the first candidate is returned."""
        ...

    async def remove_member(self, member: MemberSeen, through: Collection[str]) -> None:
        """Take a member out of etcd, asking on other Nodes than its own. Never the last one. If it is out, fine."""
        ...

    async def allow_kubeadm(self, version: str) -> None:
        """Have the roles in the tenant that kubeadm of a version needs to join."""
        ...

    async def update_kubeadm_config(self, control_plane: KubeadmControlPlane) -> None:
        """Bring the cluster configuration that joining machines read in line with what is declared."""
        ...

    async def update_kube_proxy(self, control_plane: KubeadmControlPlane) -> None:
        """Bring the image of kube-proxy in line with the version, unless an annotation says to leave it alone."""
        ...

    async def update_core_dns(self, control_plane: KubeadmControlPlane) -> None:
        """Bring CoreDNS in line with what is declared, unless an annotation says to leave it alone."""
        ...

    async def certificate_expiry(self, node: str, port: int) -> datetime:
        """When the serving certificate of the API server on a Node ends."""
        ...


class Workloads(Protocol):
    """The tenants of all control planes."""

    def get(self, cluster: Cluster, control_plane: KubeadmControlPlane) -> Workload | None:
        """The tenant of a cluster; None if it cannot be talked to at this moment. Never waits."""
        ...

    def on_change(self, changed: Callable[[Key], None]) -> None:
        """Call a function with the key of a Cluster when its tenant connects or disconnects, or when Nodes or static
        pods of its control plane changed."""
        ...

    async def close(self) -> None:
        """Let go of all tenants. What is under way with them in the background ends."""
        ...
