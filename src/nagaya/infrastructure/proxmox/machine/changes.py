"""Which machines a change of some other object concerns. Most changes concern none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine
from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.proxmox.conditions import ProxmoxConnectionCondition
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.infrastructure.proxmox.machine.seen import BY_CLUSTER
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import is_true
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
    """The machine that has a VMID, unless no more is new than what it has written there of its boot data."""
    old, new = change
    if old is not None and new is not None and _of_reservation(old) == _of_reservation(new):
        return ()
    whose = change.object.spec.machine_ref
    return (Key(whose.namespace, whose.name),)


def _of_reservation(reservation: ProxmoxVirtualMachine) -> tuple[object, ...]:
    return reservation.spec, reservation.metadata.deleting, reservation.status.node, reservation.status.phase


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


@dataclass(frozen=True, slots=True)
class OfConnection:
    """The machines that wait after a failure and have their VMID by a connection that is better now: a privilege that
    was missing is there, or all is well again."""

    cache: Cache

    def __call__(self, change: Change[ProxmoxConnection]) -> Iterable[Key]:
        """By a change of the ProxmoxConnection."""
        old, new = change
        if old is None or new is None or not _is_better(old, new):
            return ()
        found = [each for each in self.cache.list(PROXMOX_VIRTUAL_MACHINES) if _is_by(each, Key.of(new))]
        keys = [Key(each.spec.machine_ref.namespace, each.spec.machine_ref.name) for each in found]
        machines = [self.cache.get(PROXMOX_MACHINES, key) for key in keys]
        return [Key.of(each) for each in machines if each is not None and each.status.retry_after is not None]


def _is_better(old: ProxmoxConnection, new: ProxmoxConnection) -> bool:
    missing = {(each.path, each.privilege) for each in new.status.missing_privileges}
    granted = any((each.path, each.privilege) not in missing for each in old.status.missing_privileges)
    ready = ProxmoxConnectionCondition.READY
    return granted or (is_true(new.status.conditions, ready) and not is_true(old.status.conditions, ready))


def _is_by(reservation: ProxmoxVirtualMachine, connection: Key) -> bool:
    named = reservation.spec.connection_ref
    return named.kind in (None, PROXMOX_CONNECTIONS.kind) and Key(named.namespace, named.name) == connection


def machines_of(cache: Cache, cluster: Key) -> list[Key]:
    """All machines of a Cluster."""
    return [Key.of(each) for each in cache.by(PROXMOX_MACHINES, BY_CLUSTER, f"{cluster.namespace}/{cluster.name}")]


def _awaited(cluster: Cluster) -> tuple[object, ...]:
    return cluster.spec.paused, cluster.spec.infrastructure_ref, cluster.status.initialization


def _shared(cluster: ProxmoxCluster) -> tuple[object, ...]:
    return cluster.spec, cluster.status.in_cluster_zone_ref, cluster.status.datacenter
