"""What there is in the data center: one picture for all who ask.

GET /cluster/resources touches no dead host, so this never waits for one. However many controllers ask, a new picture is
taken at most every `FRESHEST` seconds, and by one call at a time; who needs it newer gets the one that is then taken.
A failure is kept for as long. What hosts are able to carry is remembered from before they went off, as PVE forgets it,
and since when they are off. What the list does not tell of hosts is in `equipment`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from nagaya.infrastructure.proxmox.client import rows
from nagaya.infrastructure.proxmox.client.calls import Calls
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.infrastructure.proxmox.client.equipment import Equipment
from nagaya.infrastructure.proxmox.client.errors import Forbidden, ProxmoxError
from nagaya.infrastructure.proxmox.client.rows import ContainerRow, Host, MachineRow, StorageRow

FRESHEST: Final = 2.0
"""Seconds; PVE itself keeps its numbers for as long."""
USUAL: Final = 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The data center at a moment."""

    taken: datetime
    moment: float
    """On the clock that never goes back."""
    cluster: str = ""
    """Its name; empty for a host that is in none."""
    quorate: bool | None = None
    """None: not known, as the credentials may not see it (Sys.Audit on /)."""
    hosts: Mapping[str, Host] = field(default_factory=dict)
    machines: Mapping[int, MachineRow] = field(default_factory=dict)
    containers: Mapping[int, ContainerRow] = field(default_factory=dict)
    storages: Mapping[tuple[str, str], StorageRow] = field(default_factory=dict)
    """By host and name."""
    pools: frozenset[str] = frozenset()
    off_since: Mapping[str, datetime] = field(default_factory=dict)
    """When hosts that are off were first seen off by us. Those that have never been seen on are left out."""

    def machines_on(self, host: str) -> list[MachineRow]:
        """Those of one host."""
        return [machine for machine in self.machines.values() if machine.node == host]

    def storages_on(self, host: str) -> list[StorageRow]:
        """Those that one host has."""
        return [storage for (node, _), storage in self.storages.items() if node == host]


class Inventory:
    """The picture of one connection."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._taking: asyncio.Task[Snapshot] | None = None
        self._failed: tuple[float, ProxmoxError] | None = None
        self.last: Snapshot | None = None
        """The last that could be taken, whatever its age."""
        self.equipment = Equipment(calls)

    async def get(self, max_age: float = USUAL) -> Snapshot:
        """A picture not older than that (but `FRESHEST` at the least). Raises ProxmoxError."""
        now = self._calls.world.clock.monotonic()
        allowed = max(max_age, FRESHEST)
        if self.last is not None and now - self.last.moment < allowed:
            return self.last
        if self._failed is not None and now - self._failed[0] < FRESHEST:
            raise self._failed[1]
        if self._taking is None or self._taking.done():
            self._taking = asyncio.get_running_loop().create_task(self._take())
            self._taking.add_done_callback(_heard)
        return await asyncio.shield(self._taking)

    def age(self) -> float | None:
        """Seconds since the last picture; None if there is none."""
        return None if self.last is None else self._calls.world.clock.monotonic() - self.last.moment

    def retry(self) -> None:
        """Others ask now, or elsewhere: that it failed before says nothing any more."""
        self._failed = None

    async def close(self) -> None:
        """Take none any more."""
        await self.equipment.close()
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.gather(self._taking, return_exceptions=True)

    async def _take(self) -> Snapshot:
        clock = self._calls.world.clock
        moment, taken = clock.monotonic(), clock.now()
        try:
            resources = await self._calls.rows("/cluster/resources")
            status = await self._status()
        except ProxmoxError as error:
            self._failed = clock.monotonic(), error
            raise
        self._failed = None
        snapshot = _pictured(resources, status, self.last, taken, moment)
        self.last = snapshot
        self._calls.hosts.told({name: host.online for name, host in snapshot.hosts.items()})
        if self._calls.facts.trust.covers_other_hosts:
            port = self._calls.facts.endpoints[0].port
            addresses = [host.address for host in snapshot.hosts.values() if host.address]
            self._calls.endpoints.learn(Endpoint(address, port) for address in addresses)
        return snapshot

    async def _status(self) -> list[dict[str, Any]]:
        try:
            return await self._calls.rows("/cluster/status")
        except Forbidden:
            return []


def _heard(taking: asyncio.Task[Snapshot]) -> None:
    """Those who wait hear of a failure; when all of them have gone, nobody has to."""
    if not taking.cancelled():
        taking.exception()


def _pictured(
    resources: list[dict[str, Any]],
    status: list[dict[str, Any]],
    before: Snapshot | None,
    taken: datetime,
    moment: float,
) -> Snapshot:
    told = {str(row["name"]): row for row in status if row.get("type") == "node"}
    cluster = next((row for row in status if row.get("type") == "cluster"), None)
    by_type: dict[str, list[dict[str, Any]]] = {}
    for row in resources:
        by_type.setdefault(str(row.get("type")), []).append(row)
    hosts = {
        str(row["node"]): rows.host(
            row, told.get(str(row["node"]), {}), None if before is None else before.hosts.get(str(row["node"]))
        )
        for row in by_type.get("node", [])
    }
    online = {name for name, host in hosts.items() if host.online}
    quorate: bool | None = None
    if cluster is not None:
        quorate = bool(cluster.get("quorate"))
    elif told:
        quorate = True  # a host alone needs nobody
    return Snapshot(
        taken,
        moment,
        str(cluster.get("name", "")) if cluster is not None else "",
        quorate,
        hosts,
        {int(row["vmid"]): rows.machine(row, host_online=row["node"] in online) for row in by_type.get("qemu", [])},
        {int(row["vmid"]): rows.container(row) for row in by_type.get("lxc", [])},
        {
            (str(row["node"]), str(row["storage"])): rows.storage(row, host_online=row["node"] in online)
            for row in by_type.get("storage", [])
        },
        frozenset(str(row["pool"]) for row in by_type.get("pool", [])),
        _off_since(hosts, before, taken),
    )


def _off_since(hosts: Mapping[str, Host], before: Snapshot | None, taken: datetime) -> dict[str, datetime]:
    """A host that was off in the first picture may have been so for long: nobody knows since when."""
    if before is None:
        return {}
    known = dict(before.off_since)
    known |= {name: taken for name, host in before.hosts.items() if host.online}
    return {name: known[name] for name, host in hosts.items() if not host.online and name in known}
