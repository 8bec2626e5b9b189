"""Calls about the cluster as a whole, and about its hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.infrastructure.proxmox.client import rows
from nagaya.infrastructure.proxmox.client.answer_types import malformed, shown
from nagaya.infrastructure.proxmox.client.calls import Calls, path_of
from nagaya.infrastructure.proxmox.client.errors import Conflict
from nagaya.infrastructure.proxmox.client.rows import MachineRow

_VERSION: Final = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[.~+-]|$)")
_VMID: Final = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Version:
    """Of PVE: `release` is e.g. (9, 2)."""

    text: str
    release: tuple[int, int]


@dataclass(frozen=True, slots=True)
class HostStatus:
    """What a host says of itself."""

    cpus: int
    memory: int
    memory_used: int
    uptime: int
    kernel: str = ""


class Cluster:
    """One data center."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def version(self) -> Version:
        """Needs no right, so it says nothing on whether the credentials are of use."""
        found = await self._calls.call("GET", "/version")
        text = str(found.record()["version"])
        if (numbers := _VERSION.match(text)) is None:
            raise malformed(found.asked, f"version: {shown(text)} is not a version such as 9.2.1")
        return Version(text, (int(numbers[1]), int(numbers[2] or 0)))

    async def status(self) -> list[dict[str, Any]]:
        """The rows of hosts and of the cluster. Raises Forbidden without Sys.Audit on /."""
        return await self._calls.rows("/cluster/status")

    async def clock_ahead(self, node: str) -> float:
        """Seconds by which the clock of a host is at least ahead of this machine's; less than 0 if it is behind.
        Proxmox VE answers whole seconds, of a moment between the request and the answer."""
        clock = self._calls.world.clock
        before = clock.now().timestamp()
        answer = float((await self._calls.record(path_of("nodes", node, "time"))).get("time") or 0)
        after = clock.now().timestamp()
        return answer - after if answer > after else min(0.0, answer + 1 - before)

    async def next_id(self) -> int:
        """An id that is free at this moment. Nothing is reserved."""
        found = await self._calls.call("GET", "/cluster/nextid")
        if not _VMID.fullmatch(str(found.data)):
            raise found.wrong("a VMID")
        return int(found.data)

    async def is_free(self, vmid: int) -> bool:
        """Whether nobody has this id at this moment, hosts that are off included."""
        try:
            await self._calls.get("/cluster/nextid", {"vmid": vmid})
        except Conflict:
            return False
        return True

    async def machine(self, vmid: int) -> MachineRow | None:
        """Where a VM is and in which pool, at this moment: for whoever is about to destroy it. The picture that all
        share may be two seconds old."""
        listed = await self._calls.rows("/cluster/resources", {"type": "vm"})
        found = (each for each in listed if each.get("type") == "qemu" and int(each["vmid"]) == vmid)
        return next((rows.machine(each, host_online=True) for each in found), None)

    async def options(self) -> Mapping[str, Any]:
        """Those of the data center: next-id, tag-style, registered-tags, ..."""
        return await self._calls.record("/cluster/options")

    async def host_status(self, node: str) -> HostStatus:
        """What a host says of itself. Raises HostUnreachable."""
        data = await self._calls.record(path_of("nodes", node, "status"))
        memory = data.get("memory") or {}
        return HostStatus(
            int((data.get("cpuinfo") or {}).get("cpus") or 0),
            int(memory.get("total") or 0),
            int(memory.get("used") or 0),
            int(data.get("uptime") or 0),
            str(data.get("kversion") or ""),
        )

    async def bridges(self, node: str) -> tuple[str, ...]:
        """Those that a host has and the credentials may see, virtual networks included."""
        listed = await self._calls.rows(path_of("nodes", node, "network"), {"type": "any_bridge"})
        return tuple(str(row["iface"]) for row in listed)

    async def wake(self, node: str) -> None:
        """Have another host wake this one by its network card."""
        await self._calls.post(path_of("nodes", node, "wakeonlan"))
