"""Which simulated machines a change of some other object concerns. Most changes concern none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.secrets import AUTHORITY
from nagaya.api.simulated.simulated_machine import SIMULATED_MACHINES
from nagaya.infrastructure.simulated.machine.seen import BY_CLUSTER
from nagaya.infrastructure.simulated.owners import refers_to
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.tenant_secrets import TenantSecret


def of_machine(change: Change[Machine]) -> Iterable[Key]:
    """The host of a Machine, if the Machine is to be something else."""
    old, new = change
    if old is not None and new is not None and (old.spec, old.metadata.labels) == (new.spec, new.metadata.labels):
        return ()
    reference = change.object.spec.infrastructure_ref
    if not refers_to(reference, SIMULATED_MACHINES):
        return ()
    return (Key(change.object.metadata.namespace, reference.name),)


@dataclass(frozen=True, slots=True)
class MachinesOf:
    """All simulated machines of a Cluster."""

    cache: Cache

    def __call__(self, cluster: Key) -> list[Key]:
        """By the key of the Cluster."""
        return [Key.of(each) for each in self.cache.by(SIMULATED_MACHINES, BY_CLUSTER, str(cluster))]


@dataclass(frozen=True, slots=True)
class OfCluster:
    """The machines of a Cluster in which something changed that machines wait for."""

    machines: MachinesOf

    def __call__(self, change: Change[Cluster]) -> Iterable[Key]:
        """By a change of the Cluster."""
        old, new = change
        if old is not None and new is not None and _awaited(old) == _awaited(new):
            return ()
        return self.machines(Key.of(change.object))


@dataclass(frozen=True, slots=True)
class OfAuthority:
    """The machines of a cluster that got its authority."""

    machines: MachinesOf

    def __call__(self, change: Change[TenantSecret]) -> Iterable[Key]:
        """By a change of a Secret."""
        metadata = change.object.metadata
        if change.old is not None or not metadata.name.endswith(AUTHORITY):
            return ()
        return self.machines(Key(metadata.namespace, metadata.name.removesuffix(AUTHORITY)))


def _awaited(cluster: Cluster) -> tuple[object, ...]:
    return cluster.spec.paused, cluster.spec.infrastructure_ref, cluster.status.initialization
