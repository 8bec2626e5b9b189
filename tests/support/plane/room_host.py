"""The machine of hosted control planes as controllers know it: the real host and the real supervisor, whose processes
are stand-ins in the machine room.

A process of controllers that was killed starts and ends nothing any more. What it had started goes on, and the next
one finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from nagaya.controlplane.hosted.host.host import Host
from nagaya.controlplane.hosted.host.processes import BALANCER
from nagaya.controlplane.hosted.host.programs import Programs
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.supervision.errors import SupervisionError
from nagaya.supervision.events import Listener
from nagaya.supervision.place import Place
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.supervisor import Supervisor
from nagaya.supervision.unit import Home, Life, Unit
from nagaya.world import World
from support.plane.machine_room import MachineRoom, Program, programs_folder, ready

_DRAINING: Final = 1.0
"""Seconds that a balancer takes."""


class RoomHost(Host):
    """One process's view of the machine."""

    def __init__(self, room: MachineRoom, death: asyncio.Event, world: World) -> None:
        super().__init__(room.settings, world)
        self._room = room
        self._supervisor = RoomSupervisor(room, death, world, self._heard)

    def programs(self, version: str, names: Collection[str]) -> Programs:
        """All are there."""
        return Programs({name: programs_folder(version) / name for name in names})

    async def drained(self, folder: TenantFolder, names: Collection[str]) -> bool:
        """A balancer that runs has sent all clients elsewhere after a moment."""
        await asyncio.sleep(_DRAINING)
        return f"{folder.path.name}.{BALANCER}" in self._room.programs


class RoomSupervisor(Supervisor):
    """Keeps stand-ins running, as it would processes."""

    def __init__(self, room: MachineRoom, death: asyncio.Event, world: World, listener: Listener) -> None:
        super().__init__(room.settings.processes, world, listener=listener)
        self._room = room
        self._death = death

    async def ensure(self, spec: ProcessSpec) -> None:
        """Let this run; its probe asks the room."""
        await super().ensure(replace(spec, ready=ready(self._room, spec.name)))

    def _unit(self, name: str) -> Unit:
        unit = self._units.get(name)
        if unit is None:
            home: Home = _Home(self._room, self._death, name, self._place(name))
            unit = self._units[name] = Unit(name, home, self._world, self._backoff, self._tell)
        return unit


@dataclass(frozen=True, slots=True)
class _Home:
    room: MachineRoom
    death: asyncio.Event
    name: str
    place: Place

    def find(self) -> Life | None:
        program = self.room.programs.get(self.name)
        return None if program is None else _Life(self.room, self.death, program)

    async def start(self, spec: ProcessSpec) -> Life:
        _expect_life(self.death)
        folder: Path = self.place.folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "lock").touch()
        return _Life(self.room, self.death, self.room.start(spec))

    async def clear(self) -> None:
        _expect_life(self.death)

    def last_lines(self) -> tuple[str, ...]:
        return ()


class _Life:
    def __init__(self, room: MachineRoom, death: asyncio.Event, program: Program) -> None:
        self._room = room
        self._death = death
        self._program = program
        self.digest = program.spec.digest
        self.grace = program.spec.grace

    @property
    def pid(self) -> int:
        return self._program.pid

    @property
    def age(self) -> float:
        return asyncio.get_running_loop().time() - self._program.began

    async def ended(self) -> int | None:
        return await asyncio.shield(self._program.exit)

    async def end(self, grace: float) -> None:
        _expect_life(self._death)
        await self._room.end(self._program)

    def release(self) -> None:
        """It goes on."""


def _expect_life(death: asyncio.Event) -> None:
    if death.is_set():
        raise SupervisionError("the process of controllers was killed")
