"""Everything that a decision about a simulated machine may depend on, read at one moment from caches alone."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.simulated.conditions import SimulatedCondition
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS, SimulatedCluster
from nagaya.api.simulated.simulated_machine import SIMULATED_MACHINES, SimulatedMachine
from nagaya.infrastructure.simulated.owners import owner_of, refers_to
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.cache.cache import Cache
from nagaya.kube.conditions import is_true
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

BY_CLUSTER: Final = "cluster"
"""The index of SimulatedMachines by `namespace/name` of their Cluster."""
BY_ADDRESS: Final = "address"
"""The index of SimulatedMachines by their Cluster and their address."""

FASTEST_BOOT: Final = 1.0
SLOWEST_BOOT: Final = 2.0
NETWORK: Final = ipaddress.IPv4Network("172.16.0.0/12")
"""Where the addresses are from: private, and apart from the usual ranges of pods and Services."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a simulated machine."""

    host: SimulatedMachine
    machine: Machine | None
    """Its owner, once there is one."""
    cluster_key: Key
    cluster: Cluster | None
    infrastructure: SimulatedCluster | None
    """The SimulatedCluster that the Cluster refers to."""
    boot_seconds: float
    """How long the boot takes, if it begins now."""
    address: str
    """The address that the machine has, or could have."""
    announced: bool
    """Whether this process knows the SimulatedCluster, and where the API of the cluster is to be."""
    serving: bool
    """Whether that API answers."""
    joined: bool
    now: datetime

    @property
    def control_plane(self) -> bool:
        """Whether the machine is part of the control plane."""
        return self.machine is not None and labels.CONTROL_PLANE in self.machine.metadata.labels

    @property
    def provisioned(self) -> bool:
        """Whether the machine has been made."""
        return self.host.status.initialization.provisioned is True

    @property
    def was_joined(self) -> bool:
        """Whether its Node has joined before: the machine says so; or it has the name that another uid gave it. That
        came by a move, which takes only machines with a Node along, and whose token is long gone."""
        name = self.host.spec.provider_id
        moved = bool(name) and not name.endswith(self.host.metadata.uid[:8])
        return moved or is_true(self.host.status.conditions, SimulatedCondition.NODE_JOINED)


def index(cache: Cache) -> None:
    """Have SimulatedMachines found by their Cluster and by their address. They are kept from here on."""
    if not cache.has(SIMULATED_MACHINES):
        cache.start(SIMULATED_MACHINES)
    cache.add_index(SIMULATED_MACHINES, BY_CLUSTER, _cluster)
    cache.add_index(SIMULATED_MACHINES, BY_ADDRESS, _addresses)


def cluster_key(host: SimulatedMachine) -> Key:
    """The key of the Cluster that a machine says it belongs to."""
    return Key(host.metadata.namespace, host.metadata.labels.get(labels.CLUSTER_NAME, ""))


def observe(rt: Runtime, tenants: Tenants, host: SimulatedMachine) -> Seen:
    """A simulated machine and what concerns it."""
    cache, metadata = rt.cache, host.metadata
    machine = owner_of(cache, host, MACHINES)
    key = cluster_key(host) if machine is None else Key(metadata.namespace, machine.spec.cluster_name)
    cluster = cache.get(CLUSTERS, key)
    infrastructure = _infrastructure(cache, cluster)
    tenancy = tenants.tenancy(key)
    return Seen(
        host,
        machine,
        key,
        cluster,
        infrastructure,
        _boot_seconds(rt, host),
        _address(cache, host, key),
        tenancy is not None and infrastructure is not None,
        tenancy is not None and tenancy.serving,
        tenancy is not None and tenancy.joined(metadata.name, metadata.uid),
        rt.world.clock.now(),
    )


def _infrastructure(cache: Cache, cluster: Cluster | None) -> SimulatedCluster | None:
    reference = None if cluster is None else cluster.spec.infrastructure_ref
    if cluster is None or reference is None or not refers_to(reference, SIMULATED_CLUSTERS):
        return None
    return cache.get(SIMULATED_CLUSTERS, Key(cluster.metadata.namespace, reference.name))


def _boot_seconds(rt: Runtime, host: SimulatedMachine) -> float:
    if host.status.boot_completion_time is not None:
        return 0.0  # it was decided before
    if host.spec.startup_seconds is not None:
        return float(host.spec.startup_seconds)
    return rt.world.random.uniform(FASTEST_BOOT, SLOWEST_BOOT)


def _address(cache: Cache, host: SimulatedMachine, cluster: Key) -> str:
    known = next((each.address for each in host.status.addresses if each.type == "InternalIP"), "")
    if known:
        return known
    usable = NETWORK.num_addresses - 2
    begin = int.from_bytes(hashlib.sha256(host.metadata.uid.encode()).digest()[:8], "big") % usable
    candidates = (str(NETWORK[1 + (begin + step) % usable]) for step in range(usable))
    return next(each for each in candidates if not cache.by(SIMULATED_MACHINES, BY_ADDRESS, f"{cluster}/{each}"))


def _cluster(host: SimulatedMachine) -> tuple[str, ...]:
    return (str(cluster_key(host)),)


def _addresses(host: SimulatedMachine) -> tuple[str, ...]:
    return tuple(f"{cluster_key(host)}/{each.address}" for each in host.status.addresses if each.type == "InternalIP")
