"""What a simulated cluster and its nodes are made of, and how long things take in them.

Values only. Everything a user could take for real carries the mark that it is simulated, and the marks are here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.shared import Shared

if TYPE_CHECKING:
    from nagaya.simulators.tenant.boot_data import KubeadmBoot

DOMAIN: Final = "simulated.nagaya.dev"
MARK: Final = f"{DOMAIN}/node"  # label of every simulated node
STOP_AFTER: Final = f"{DOMAIN}/stop-after"  # annotation: seconds a pod takes to stop when it is asked to
RUN_FOR: Final = f"{DOMAIN}/run-for"  # annotation: seconds after which a pod that may end has succeeded

CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
CLOUD_UNINITIALIZED: Final = "node.cloudprovider.kubernetes.io/uninitialized"


@dataclass(frozen=True, slots=True)
class Taint:
    """Keeps pods off a node."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that things take. Those of real controllers are their defaults in Kubernetes 1.36."""

    node_ready: float = 1.0  # from registration to Ready: the network plugin and the first sync
    pod_start: float = 1.0  # from binding to Ready, volumes there
    pod_stop: float = 1.0  # unless the grace period is shorter
    provision: float = 0.5  # of a volume
    attach: float = 0.5
    detach: float = 0.5
    node_monitor_grace: float = 50.0  # silence of a kubelet until its node is Unknown
    orphan_quarantine: float = 40.0  # from a Node's deletion to that of its pods
    forced_detach: float = 360.0  # of volumes from a node that is not healthy
    static_pod_start: float = 1.0  # of a control plane's components, from the registration of their node
    etcd_catch_up: float = 0.5  # from the start of a member that has joined to its vote
    etcd_slow: float = 5.0  # that a member takes to answer when it is slow


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """How a simulated cluster is set up."""

    name: str
    authority: CertificateAuthority  # signs the serving certificate; client certificates it has signed are accepted
    version: str = "v1.36.3"
    host: str = "127.0.0.1"
    port: int = 0
    hosts: Sequence[str] = ()  # further names and addresses for the serving certificate
    listen: bool = True  # else requests only come through `Tenant.handle`
    control_plane_endpoint: str = ""  # as kubeadm-config names it; where the tenant listens unless given
    service_subnet: str = "10.96.0.0/12"
    pod_subnet: str = "10.128.0.0/9"
    timing: Timing = field(default_factory=Timing)
    shared: Shared = field(default_factory=Shared)  # one for all tenants of a process makes them cheap


DEFAULT_CAPACITY: Final[Mapping[str, str]] = {
    "cpu": "4",
    "memory": "8Gi",
    "pods": "110",
    "ephemeral-storage": "50Gi",
}


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """A machine that joins."""

    name: str
    provider_id: str = ""
    version: str = ""  # that of the cluster unless given
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Taint] | None = None  # None is what kubeadm does: keep pods off control plane nodes
    addresses: Sequence[tuple[str, str]] = ()  # type ("InternalIP") and address
    capacity: Mapping[str, str] = field(default_factory=lambda: DEFAULT_CAPACITY)
    control_plane: bool = False
    local_etcd: bool = True  # whether a control plane node has an etcd of its own
    external_cloud: bool = False  # a cloud controller manager initialises the node: until then it is tainted
    boot: KubeadmBoot | None = None  # what its boot data tell kubeadm; without, it joins as it is told here

    def registered_taints(self) -> list[Taint]:
        """The taints that the kubelet registers its node with."""
        taints = list(self.taints or ())
        if self.taints is None and self.control_plane:
            taints.append(Taint(CONTROL_PLANE, "NoSchedule"))
        if self.external_cloud:
            taints.append(Taint(CLOUD_UNINITIALIZED, "NoSchedule", "true"))
        return taints


class Fault(Enum):
    """What can happen to a node. The first two silence it; with the others it reports what is wrong."""

    KUBELET_DEAD = "the kubelet has died; containers run on, nobody starts or stops them"
    NETWORK_GONE = "the node cannot reach the API server"
    RUNTIME_DOWN = "the container runtime is down: Ready is False"
    MEMORY_PRESSURE = "MemoryPressure is True"
    DISK_PRESSURE = "DiskPressure is True"
    PID_PRESSURE = "PIDPressure is True"
    ETCD_DOWN = "the etcd of the node does not run"
    ETCD_NO_SPACE = "the database of the node's etcd is full: alarm NOSPACE"
    ETCD_CORRUPT = "the data of the node's etcd are damaged: alarm CORRUPT"
    ETCD_SLOW = "the etcd of the node takes seconds to answer"


SILENCING: Final = frozenset({Fault.KUBELET_DEAD, Fault.NETWORK_GONE})
