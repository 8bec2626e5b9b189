"""What hosts are equipped with that the list of all resources does not tell: bridges, and PCI devices of mappings.

Only a decision on where a machine goes needs it, so nothing is asked before one. Each host tells of its own bridges:
they are asked side by side, and one that does not answer within `PATIENCE` seconds costs the decision nothing but that
host. Its answer is still waited for behind the scenes, for the next decision. Answers are good for `AGE` seconds.

A bridge that is missing may be one that the credentials may not use: PVE leaves it out without a word.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from nagaya.infrastructure.proxmox.client import machine_config, property_string
from nagaya.infrastructure.proxmox.client.calls import Calls, path_of
from nagaya.infrastructure.proxmox.client.errors import ProxmoxError
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.rows import MachineRow

AGE: Final = 30.0
"""Seconds: who plugs in a card, makes a bridge or grants a right can wait for so long."""
FAILURE_AGE: Final = 10.0
"""Seconds after which a host is asked again that did not answer."""
PATIENCE: Final = 5.0
"""Seconds that a decision waits for the slowest host."""
AT_A_TIME: Final = 8
"""Configurations of machines that are read side by side."""
_DEVICE: Final = re.compile(r"^hostpci\d+$")

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Devices:
    """The PCI devices of a mapping: where they are, by host. A device with several functions is one."""

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def on(self, host: str) -> int:
        """How many a host has."""
        return len(self.paths.get(host, ()))


class Equipment:
    """Of the hosts of one connection."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        now = calls.world.clock.monotonic
        self._bridges: _Kept[str, frozenset[str]] = _Kept(now)
        self._mappings: _Kept[str, Mapping[str, Devices]] = _Kept(now)
        self._taken: _Kept[tuple[str, int], MachineConfig] = _Kept(now)
        self._slots = asyncio.Semaphore(AT_A_TIME)

    async def bridges(self, hosts: Iterable[str]) -> dict[str, frozenset[str] | ProxmoxError | None]:
        """The bridges and virtual networks of hosts. An error is why a host did not tell; None: not yet."""
        return await self._bridges.get(hosts, self._read_bridges)

    async def mappings(self) -> Mapping[str, Devices]:
        """All mappings that the credentials may see. Raises ProxmoxError."""
        found = (await self._mappings.get(("",), self._read_mappings, patience=None))[""]
        if isinstance(found, ProxmoxError):
            raise found
        assert found is not None, "it was waited for"
        return found

    async def taken(
        self, machines: Iterable[MachineRow], mappings: Mapping[str, Devices]
    ) -> dict[int, tuple[str, ...]]:
        """From which mappings machines have devices, one entry for each device. Those that do not tell have none."""
        asked = [(each.node, each.vmid) for each in machines]
        found = await self._taken.get(asked, self._read_config)
        return {
            vmid: devices_of(config, node, mappings)
            for (node, vmid), config in found.items()
            if isinstance(config, MachineConfig)
        }

    async def close(self) -> None:
        """Ask nothing any more."""
        for kept in (self._bridges, self._mappings, self._taken):
            await kept.close()

    async def _read_bridges(self, host: str) -> frozenset[str]:
        rows = await self._calls.rows(path_of("nodes", host, "network"), {"type": "any_bridge"})
        return frozenset(str(row.get("iface", "")) for row in rows)

    async def _read_mappings(self, _: str) -> Mapping[str, Devices]:
        rows = await self._calls.rows("/cluster/mapping/pci")
        return {str(row.get("id", "")): _devices(row) for row in rows}

    async def _read_config(self, place: tuple[str, int]) -> MachineConfig:
        node, vmid = place
        async with self._slots:
            return machine_config.config(await self._calls.record(path_of("nodes", node, "qemu", str(vmid), "config")))


def devices_of(config: MachineConfig, host: str, mappings: Mapping[str, Devices]) -> tuple[str, ...]:
    """The mappings that the PCI devices of a machine are from. A device that was given by its address counts for every
    mapping that has it. Mediated devices do not count: they leave the rest of a device to others."""
    found: list[str] = []
    for name, text in sorted(config.options.items()):
        if not _DEVICE.match(name):
            continue
        device = property_string.parse(text)
        if device.get("mdev"):
            continue
        if mapping := device.get("mapping"):
            found.append(mapping)
            continue
        address = _address(device.leading or device.get("host"))
        found += [
            mapping
            for mapping, known in sorted(mappings.items())
            if any(_address(path) == address for path in known.paths.get(host, ()))
        ]
    return tuple(found)


def _devices(row: Mapping[str, Any]) -> Devices:
    paths: dict[str, tuple[str, ...]] = {}
    for text in row.get("map") or ():
        entry = property_string.parse(str(text))
        host, path = entry.get("node"), entry.get("path")
        if host and path:
            paths[host] = (*paths.get(host, ()), path)
    return Devices(paths)


def _address(path: str) -> str:
    """The device, without its function, as PVE writes it in full: 01:00 is 0000:01:00."""
    first = path.partition(";")[0].partition(".")[0].lower()
    return first if first.count(":") > 1 else f"0000:{first}"


class _Kept(Generic[Key, Value]):
    """Answers by what was asked, each asked for once at a time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._answers: dict[Key, tuple[float, Value | ProxmoxError]] = {}
        self._asking: dict[Key, asyncio.Task[None]] = {}

    async def get(
        self,
        keys: Iterable[Key],
        ask: Callable[[Key], Awaitable[Value]],
        *,
        patience: float | None = PATIENCE,
    ) -> dict[Key, Value | ProxmoxError | None]:
        """Answers that are new enough, or the last one where a new one does not come in time."""
        wanted = tuple(dict.fromkeys(keys))
        missing = [key for key in wanted if not self._good(key)]
        for key in missing:
            if key not in self._asking:
                self._asking[key] = asyncio.get_running_loop().create_task(self._ask(key, ask))
        if missing:
            await asyncio.wait([self._asking[key] for key in missing], timeout=patience)
        return {key: self._answers[key][1] if key in self._answers else None for key in wanted}

    async def close(self) -> None:
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _good(self, key: Key) -> bool:
        if key not in self._answers:
            return False
        when, answer = self._answers[key]
        return self._now() - when < (FAILURE_AGE if isinstance(answer, ProxmoxError) else AGE)

    async def _ask(self, key: Key, ask: Callable[[Key], Awaitable[Value]]) -> None:
        try:
            answer: Value | ProxmoxError = await ask(key)
        except ProxmoxError as error:
            answer = error
        finally:
            self._asking.pop(key, None)
        self._answers[key] = self._now(), answer
