"""Everything that a decision about a connection may depend on, read at one moment from caches alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ProxmoxConnection
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.clusters.external import keep
from nagaya.infrastructure.proxmox.connection.reference import (
    NoConnection,
    connection_reference,
    read_reference,
    reference_of,
)
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

BY_SECRET: Final = "secret"  # noqa: S105 - the name of an index
"""The index of ProxmoxConnections by the Secrets that they name."""
BY_CONNECTION: Final = "connection"
"""The index of reservations by what they are reached by."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a connection."""

    connection: ProxmoxConnection
    needed_by: tuple[str, ...]
    """What would be left behind without it, in words. Looked at only while it goes."""
    now: datetime


def index(cache: Cache) -> None:
    """Have connections found by their Secrets, and VMs by their connections. All are kept from here on."""
    keep(cache, (PROXMOX_CONNECTIONS, PROXMOX_CLUSTERS, PROXMOX_VIRTUAL_MACHINES))
    cache.add_index(PROXMOX_CONNECTIONS, BY_SECRET, _secrets)
    cache.add_index(PROXMOX_VIRTUAL_MACHINES, BY_CONNECTION, _reached_by)


def observe(rt: Runtime, connection: ProxmoxConnection) -> Seen:
    """A connection and who needs it."""
    needed = _needed_by(rt.cache, connection) if connection.metadata.deleting else ()
    return Seen(connection, needed, rt.world.clock.now())


def _needed_by(cache: Cache, connection: ProxmoxConnection) -> tuple[str, ...]:
    reference = connection_reference(connection)
    found = []
    for cluster in cache.list(PROXMOX_CLUSTERS, connection.metadata.namespace):
        try:
            if reference_of(cache, cluster) == reference:
                found.append(f"ProxmoxCluster {cluster.metadata.name}")
        except NoConnection:
            continue
    held = cache.by(PROXMOX_VIRTUAL_MACHINES, BY_CONNECTION, str(reference))
    return (*found, *(f"ProxmoxVirtualMachine {each.metadata.name}" for each in held))


def _secrets(connection: ProxmoxConnection) -> tuple[str, ...]:
    namespace, named, authority = (
        connection.metadata.namespace,
        connection.spec.credentials_ref,
        connection.spec.ca_ref,
    )
    keys = [Key(named.namespace or namespace, named.name)]
    if authority is not None:
        keys.append(Key(namespace, authority.name))
    return tuple(dict.fromkeys(map(str, keys)))


def _reached_by(machine: ProxmoxVirtualMachine) -> tuple[str, ...]:
    return (str(read_reference(machine.spec.connection_ref, machine.spec.machine_ref.namespace)),)
