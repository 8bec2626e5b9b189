"""What belongs to a Cluster and is not one of its two references: pools, deployments, sets and machines.

They are found by the label with the name of the cluster, as in Cluster API, whoever made them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_pool import MACHINE_POOLS, MachinePool
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.kind import Kind, Object
from nagaya.clusters.external import keep
from nagaya.clusters.owners import names
from nagaya.kube.cache.cache import Cache

BY_CLUSTER: Final = "label cluster-name"
KINDS: Final[tuple[Kind[Any], ...]] = (MACHINE_POOLS, MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES)


@dataclass(frozen=True, slots=True)
class Descendants:
    """All of them, each list in the order of names."""

    pools: tuple[MachinePool, ...] = ()
    deployments: tuple[MachineDeployment, ...] = ()
    sets: tuple[MachineSet, ...] = ()
    control_plane_machines: tuple[Machine, ...] = ()
    workers: tuple[Machine, ...] = ()

    @property
    def judged_workers(self) -> tuple[Machine, ...]:
        """The workers that conditions and counts take account of: pools speak for their machines themselves."""
        return tuple(each for each in self.workers if not _of_pool(each))

    @property
    def judged_machines(self) -> tuple[Machine, ...]:
        """All machines that conditions take account of."""
        return tuple(each for each in (*self.control_plane_machines, *self.workers) if not _of_pool(each))


def index(cache: Cache) -> None:
    """Have descendants found by their cluster. Their kinds are kept from here on."""
    keep(cache, KINDS)
    for kind in KINDS:
        cache.add_index(kind, BY_CLUSTER, _cluster_of)


def descendants(cache: Cache, cluster: Cluster) -> Descendants:
    """What belongs to a cluster, as the cache has it."""
    value = f"{cluster.metadata.namespace}/{cluster.metadata.name}"
    machines = cache.by(MACHINES, BY_CLUSTER, value)
    return Descendants(
        pools=tuple(cache.by(MACHINE_POOLS, BY_CLUSTER, value)),
        deployments=tuple(cache.by(MACHINE_DEPLOYMENTS, BY_CLUSTER, value)),
        sets=tuple(cache.by(MACHINE_SETS, BY_CLUSTER, value)),
        control_plane_machines=tuple(each for each in machines if _of_control_plane(each)),
        workers=tuple(each for each in machines if not _of_control_plane(each)),
    )


def owned_by(cluster: Cluster, obj: Object) -> bool:
    """Whether the Cluster itself is an owner. The uid does not count: it is another one after a move."""
    return any(names(owner, CLUSTERS, cluster) for owner in obj.metadata.owner_references)


def _cluster_of(obj: Object) -> Iterable[str]:
    name = obj.metadata.labels.get(labels.CLUSTER_NAME)
    return (f"{obj.metadata.namespace}/{name}",) if name else ()


def _of_control_plane(machine: Machine) -> bool:
    return labels.CONTROL_PLANE in machine.metadata.labels


def _of_pool(machine: Machine) -> bool:
    return labels.MACHINE_POOL_NAME in machine.metadata.labels
