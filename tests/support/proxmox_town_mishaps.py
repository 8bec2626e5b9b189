"""Mishaps of single calls in the town: one goes wrong in a certain way, once or for a while, at the first time that a
phase of the cluster's life makes it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from nagaya.simulators.proxmox.faults.fault import Calls, Fault, Kind, When
from support.proxmox_town import Town
from support.proxmox_town_layout import TOKEN
from support.proxmox_town_life import Phase

A_WHILE = 120.0
"""Seconds: longer than any retry of the client itself."""
HAMMERING = 4
"""So often in a second nothing may be asked that fails, all machines together."""
FAILURE = "an emulated failure"


class Mode(StrEnum):
    """How a call goes wrong."""

    FAILS = "fails"
    HANGS = "hangs"
    REPLY_LOST = "reply-lost"
    CLOSED = "closed"
    FAILS_FOR_A_WHILE = "fails-for-a-while"


def fault(call: str, mode: Mode, skip: int = 0) -> Fault:
    """Something that is to go wrong with a call, given as method and route."""
    method, _, route = call.partition(" ")
    which = Calls(method, re.sub(r"\{[^}]+\}", "*", route), caller=TOKEN)
    once = When(after=skip, times=1)
    match mode:
        case Mode.FAILS:
            return Fault(Kind.FAIL, which, once, reason=FAILURE)
        case Mode.HANGS:
            return Fault(Kind.HANG, which, once)
        case Mode.REPLY_LOST:
            return Fault(Kind.LOST, which, once)
        case Mode.CLOSED:
            return Fault(Kind.CLOSED, which, once)
        case Mode.FAILS_FOR_A_WHILE:
            return Fault(Kind.FAIL, which, reason=FAILURE)


@dataclass(slots=True)
class Mishap:
    """A call that goes wrong in each phase anew."""

    call: str
    mode: Mode
    skip: int = 0
    happened: int = 0
    told: Callable[[Town, Phase, str], None] = lambda town, phase, call: None
    """Looks at what was said, in phases in which something went wrong for a while."""

    async def before(self, town: Town, phase: Phase) -> None:
        """From now on it is to go wrong."""
        town.control.faults.clear()
        self._fault = fault(self.call, self.mode, self.skip)
        town.control.faults.set(self._fault)

    async def during(self, town: Town, phase: Phase) -> None:
        """It goes well again after a while."""
        if self.mode is Mode.FAILS_FOR_A_WHILE:
            await asyncio.sleep(A_WHILE)
            town.control.faults.clear()

    async def after(self, town: Town, phase: Phase) -> None:
        """Count what went wrong."""
        self.happened += self._fault.happened
        assert self._fault.happened < A_WHILE * HAMMERING, f"{self.call} was made {self._fault.happened} times"
        if self._fault.happened > 1:
            self.told(town, phase, self.call)
        town.control.faults.clear()

    _fault: Fault = field(default_factory=lambda: Fault(Kind.FAIL))
