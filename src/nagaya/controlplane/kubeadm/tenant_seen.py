"""What a tenant says of its control plane: facts only, so that what they mean can be decided without the tenant.

Whoever looks at tenants fills this in. What could not be found out is said in a sentence, never by leaving it out: an
empty list of etcd members, for example, would be taken for an etcd that nobody needs to be careful with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from nagaya.clusters.node import Node

API_SERVER: Final = "kube-apiserver"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
ETCD: Final = "etcd"
COMPONENTS: Final = (API_SERVER, CONTROLLER_MANAGER, SCHEDULER, ETCD)
"""What kubeadm runs as static pods on each machine, named `<component>-<node>`, in kube-system."""

Phase = Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"]


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """A container of a static pod."""

    waiting: str | None = None
    """The reason why it waits, which may be empty; None if it does not wait."""
    terminated: str | None = None
    """The reason why it ended, which may be empty; None if it runs or waits."""
    failed_before: bool = False
    """Whether the last time it ended was by an exit code other than 0."""


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A static pod, as the mirror of it in the tenant's API says."""

    phase: Phase
    scheduled: bool = True
    """Whether its condition PodScheduled is True; likewise the next two."""
    initialized: bool = True
    ready: bool = True
    containers: tuple[ContainerSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberSeen:
    """A member of the tenant's etcd."""

    id: int
    name: str
    """That of its Node; empty until it has started."""
    learner: bool = False
    alarms: tuple[str, ...] = ()
    """What etcd raised for it: NOSPACE, CORRUPT."""


@dataclass(frozen=True, slots=True)
class EtcdSeen:
    """The tenant's etcd."""

    members: tuple[MemberSeen, ...] | None = None
    """As etcd lists them, learners too. None if it could not be asked, which includes that it has no leader."""
    leader: int | None = None
    """The id of the leader; one of the members."""
    problem: str = ""
    """Why the members are not known, as a message: `Failed to connect to etcd: ...`, `Failed to get etcd members:
    ...`, `Failed to get etcd alarms: ...`. Empty if nobody was asked, because no machine has a Node yet."""


@dataclass(frozen=True, slots=True)
class TenantSeen:
    """A tenant that could be talked to."""

    kubeadm_config: bool = False
    """Whether the ConfigMap kube-system/kubeadm-config is there: `kubeadm init` came to its end."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """By name: those with the control plane label, those that machines refer to, and those with the provider id of a
    machine or of its infrastructure."""
    nodes_problem: str = ""
    """Why Nodes could not be listed, in the words of the error. Then nothing else is known either."""
    pods: Mapping[str, PodSeen] = field(default_factory=dict)
    """Static pods of those Nodes, by pod name. One that is not here does not exist."""
    unreadable_pods: frozenset[str] = frozenset()
    """Names of static pods that could not be read. Why is in the log."""
    etcd: EtcdSeen = EtcdSeen()


def pod_name(component: str, node: str) -> str:
    """How kubeadm names the static pod of a component."""
    return f"{component}-{node}"
