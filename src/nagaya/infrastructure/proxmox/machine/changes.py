"""Which machines a change of some other object concerns. Most changes concern none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import ProxmoxVirtualMachine
from nagaya.infrastructure.proxmox.machine.seen import BY_CLUSTER
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key


def of_machine(change: Change[Machine]) -> Iterable[Key]:
    """The ProxmoxMachine of a Machine that is to be something else, or has its Node."""
    old, new = change
    if old is not None and new is not None and _of_machine(old) == _of_machine(new):
        return ()
    reference = change.object.spec.infrastructure_ref
    if (reference.api_group, reference.kind) != (PROXMOX_MACHINES.group, PROXMOX_MACHINES.kind):
        return ()
    return (Key(change.object.metadata.namespace, reference.name),)


def _of_machine(machine: Machine) -> tuple[object, ...]:
    return machine.spec, machine.metadata.labels, machine.status.node_ref


def of_reservation(change: Change[ProxmoxVirtualMachine]) -> Iterable[Key]:
    """The machine that has a VMID."""
    whose = change.object.spec.machine_ref
    return (Key(whose.namespace, whose.name),)


@dataclass(frozen=True, slots=True)
class OfCluster:
    """The machines of a Cluster in which something changed that machines wait for."""

    cache: Cache

    def __call__(self, change: Change[Cluster]) -> Iterable[Key]:
        """By a change of the Cluster."""
        old, new = change
        if old is not None and new is not None and _awaited(old) == _awaited(new):
            return ()
        return machines_of(self.cache, Key.of(change.object))


@dataclass(frozen=True, slots=True)
class OfInfrastructure:
    """The machines of a ProxmoxCluster that changed."""

    cache: Cache

    def __call__(self, change: Change[ProxmoxCluster]) -> Iterable[Key]:
        """By a change of the ProxmoxCluster."""
        old, new = change
        if old is not None and new is not None and _shared(old) == _shared(new):
            return ()
        metadata = change.object.metadata
        name = metadata.labels.get(labels.CLUSTER_NAME, "") or metadata.name
        return machines_of(self.cache, Key(metadata.namespace, name))


@dataclass(frozen=True, slots=True)
class OfAddress:
    """The machine whose claim has got its address, or whose claim is gone."""

    cache: Cache

    def __call__(self, change: Change[IPAddress]) -> Iterable[Key]:
        """By a change of a claim or an address: the owner of a claim, where it is a ProxmoxMachine."""
        for reference in change.object.metadata.owner_references:
            if reference.kind == PROXMOX_MACHINES.kind:
                yield Key(change.object.metadata.namespace, reference.name)


def machines_of(cache: Cache, cluster: Key) -> list[Key]:
    """All machines of a Cluster."""
    return [Key.of(each) for each in cache.by(PROXMOX_MACHINES, BY_CLUSTER, f"{cluster.namespace}/{cluster.name}")]


def _awaited(cluster: Cluster) -> tuple[object, ...]:
    return cluster.spec.paused, cluster.spec.infrastructure_ref, cluster.status.initialization


def _shared(cluster: ProxmoxCluster) -> tuple[object, ...]:
    return cluster.spec, cluster.status.in_cluster_zone_ref, cluster.status.datacenter
