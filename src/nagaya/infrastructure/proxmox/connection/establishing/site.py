"""What there is to work with in a data center: hosts, storages, networks, templates."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.cluster import Version
from nagaya.infrastructure.proxmox.client.errors import Forbidden, HostUnreachable, NotImplemented
from nagaya.infrastructure.proxmox.client.rows import MachineRow, StorageRow
from nagaya.infrastructure.proxmox.privileges.place import LOCAL_ZONE


@dataclass(frozen=True, slots=True)
class Site:
    """As far as whoever asked may see it."""

    version: Version
    snapshot: Snapshot
    networks: Mapping[str, str] = field(default_factory=dict)
    """The zone of each bridge and virtual network."""

    @property
    def templates(self) -> list[MachineRow]:
        """All templates, by id."""
        return sorted((each for each in self.snapshot.machines.values() if each.template), key=lambda each: each.vmid)

    def storages(self, content: str) -> dict[str, list[StorageRow]]:
        """The storages that hold something of a sort, each as its hosts have it."""
        found: dict[str, list[StorageRow]] = {}
        for (_, name), row in sorted(self.snapshot.storages.items()):
            if content in row.contents:
                found.setdefault(name, []).append(row)
        return found


async def read_site(proxmox: Proxmox) -> Site:
    """Ask for all of it. Hosts that are off are not asked. Raises ProxmoxError."""
    version = await proxmox.cluster.version()
    snapshot = await proxmox.inventory.get()
    networks: dict[str, str] = {}
    virtual: list[dict[str, object]] = []
    with suppress(NotImplemented, Forbidden):
        virtual = await proxmox.calls.rows("/cluster/sdn/vnets")
    zones = {str(row["vnet"]): str(row.get("zone") or "") for row in virtual}
    for name, host in sorted(snapshot.hosts.items()):
        if not host.online:
            continue
        with suppress(HostUnreachable):
            for bridge in await proxmox.cluster.bridges(name):
                networks.setdefault(bridge, zones.get(bridge, LOCAL_ZONE))
    return Site(version, snapshot, networks)
