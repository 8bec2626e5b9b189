"""A Proxmox VE as it is now, read once: what placement needs to say where machines would land."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from nagaya.api.cluster.machine import Machine
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS, InClusterIPPool
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS, ConnectionDefaults
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.just_made import filled_in
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.cluster.pools import wanted_pools, zone_pools
from nagaya.infrastructure.proxmox.connection.connections import Connected
from nagaya.infrastructure.proxmox.connection.opening import Opener, opened
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, Reference, reference_among
from nagaya.infrastructure.proxmox.machine.wish import (
    NO_EQUIPMENT,
    Equipment,
    Whose,
    bridges,
    cluster_of,
    may_be_meant,
    pci_devices,
    role,
    template,
)
from nagaya.insight.foresight.fleet import Fleet
from nagaya.insight.foresight.move import Move
from nagaya.insight.foresight.read import Reader
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

KIND = PROXMOX_MACHINES.kind


@dataclass(frozen=True, slots=True)
class Site:
    """What is there."""

    infrastructure: ProxmoxCluster
    pools: Mapping[str, InClusterIPPool] = field(default_factory=dict)
    """The pools of the namespace, by name."""
    snapshot: Snapshot | None = None
    """None if Proxmox VE cannot be asked."""
    unknown: str = ""
    """Why not."""
    configs: Mapping[int, MachineConfig] = field(default_factory=dict)
    owned: Mapping[int, Whose] = field(default_factory=dict)
    equipment: Equipment = NO_EQUIPMENT
    defaults: ConnectionDefaults = field(default_factory=ConnectionDefaults)


def proxmox_machine(fleet: Fleet, name: str) -> ProxmoxMachine | None:
    """The ProxmoxMachine of a machine of a fleet; None if it is of another kind or cannot be understood."""
    obj: Untyped | None = fleet.hosts.get(name)
    if obj is None or obj.kind != KIND or obj.api_version != PROXMOX_MACHINES.api_version:
        return None
    raw = obj.raw
    if not obj.metadata.uid:
        raw = {**raw, "metadata": {**raw["metadata"], "uid": f"future-{name}"}}
    try:
        return PROXMOX_MACHINES.convert(raw)
    except msgspec.ValidationError:
        return None


async def read_site(
    client: Client, world: World, reader: Reader, fleet: Fleet, moves: Iterable[Move], open: Opener | None = None
) -> Site | None:
    """The site that a fleet stands on, as far as it can be seen; None if it is not on Proxmox VE.

    `moves` tell which machines would come; `open` is how a data center is reached, for tests.
    """
    made = [each.machine for each in moves if each.made]
    namespace = fleet.cluster.metadata.namespace
    reference = fleet.cluster.spec.infrastructure_ref
    if reference is None or reference.kind != PROXMOX_CLUSTERS.kind:
        return None
    clusters = await reader.all(PROXMOX_CLUSTERS, namespace)
    infrastructure = next((each for each in clusters if each.metadata.name == reference.name), None)
    if infrastructure is None:
        return None
    infrastructure = _with_pools(infrastructure)
    pools = {each.metadata.name: each for each in await reader.all(IN_CLUSTER_IP_POOLS, namespace)}
    connections = [each.metadata.name for each in await reader.all(PROXMOX_CONNECTIONS, namespace)]
    try:
        named = reference_among(connections, infrastructure)
        return await _asked(client, world, infrastructure, pools, named, fleet, made, open)
    except (NoConnection, ProxmoxError, ApiError, NoAnswer) as error:
        wanted = infrastructure.spec.connection_ref
        if wanted is not None and reader.creates(PROXMOX_CONNECTIONS.kind, wanted.name):
            why = f"ProxmoxConnection {namespace}/{wanted.name} is made by the same manifests; apply it first"
            return Site(infrastructure, pools, unknown=why)
        secret = infrastructure.spec.credentials_ref
        if secret is not None and reader.creates("Secret", secret.name):
            why = f"Secret {secret.namespace or namespace}/{secret.name} is made by the same manifests; apply it first"
            return Site(infrastructure, pools, unknown=why)
        return Site(infrastructure, pools, unknown=str(error))


async def _asked(
    client: Client,
    world: World,
    infrastructure: ProxmoxCluster,
    pools: Mapping[str, InClusterIPPool],
    named: Reference,
    fleet: Fleet,
    made: Sequence[str],
    open: Opener | None,
) -> Site:
    connected = await opened(client, world, named, open)
    try:
        snapshot = await filled_in(connected.proxmox, await connected.proxmox.inventory.get())
        machines = [(found, fleet.known[name]) for name in made if (found := proxmox_machine(fleet, name)) is not None]
        return Site(
            infrastructure,
            pools,
            snapshot,
            configs=await _configs(connected, snapshot, machines),
            owned=await _owned(client, connected.datacenter),
            equipment=await _equipment(connected, snapshot, [each for each, _ in machines]),
            defaults=connected.defaults,
        )
    finally:
        await connected.proxmox.close()


def _with_pools(infrastructure: ProxmoxCluster) -> ProxmoxCluster:
    """A ProxmoxCluster that knows its pools, also one that has not made them yet."""
    if infrastructure.status.in_cluster_zone_ref:
        return infrastructure
    status = msgspec.structs.replace(
        infrastructure.status, in_cluster_zone_ref=zone_pools(wanted_pools(infrastructure))
    )
    return msgspec.structs.replace(infrastructure, status=status)


async def _configs(
    connected: Connected, snapshot: Snapshot, machines: Iterable[tuple[ProxmoxMachine, Machine]]
) -> dict[int, MachineConfig]:
    """The configurations of templates that may be meant. One that cannot be read is one that placement does not use."""
    wanted = {template(machine, owner, connected.defaults.template_selector) for machine, owner in machines}
    known: dict[int, MachineConfig] = {}
    for row in snapshot.machines.values():
        host = snapshot.hosts.get(row.node)
        if host is None or not host.online or not any(may_be_meant(each, row) for each in wanted):
            continue
        try:
            known[row.vmid] = await connected.proxmox.machines.config(row.node, row.vmid)
        except ProxmoxError:
            continue
    return known


async def _owned(client: Client, datacenter: str) -> dict[int, Whose]:
    """Which VMs are machines of ours."""
    machines = {each.metadata.uid: each for each in (await client.list(PROXMOX_MACHINES)).items}
    found: dict[int, Whose] = {}
    for reservation in (await client.list(PROXMOX_VIRTUAL_MACHINES)).items:
        machine = machines.get(reservation.spec.machine_ref.uid)
        if machine is not None and (not datacenter or reservation.spec.datacenter == datacenter):
            whose = Whose(machine.metadata.uid, cluster_of(machine), role(machine), pci_devices(machine))
            found[reservation.spec.vmid] = whose
    return found


async def _equipment(connected: Connected, snapshot: Snapshot, machines: Iterable[ProxmoxMachine]) -> Equipment:
    """The bridges of hosts, if machines need some."""
    proxmox: Proxmox = connected.proxmox
    needed = any(bridges(each, connected.defaults.bridge) for each in machines)
    online = [host.name for host in snapshot.hosts.values() if host.online and not host.maintenance]
    told = await proxmox.inventory.equipment.bridges(online) if needed else {}
    mappings = await proxmox.inventory.equipment.mappings() if any(each.spec.pci_devices for each in machines) else {}
    return Equipment({host: found for host, found in told.items() if isinstance(found, frozenset)}, {}, mappings, {})
