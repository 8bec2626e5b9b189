"""The mishaps of one emulator: which are set, and which have happened.

They are the same in every run with the same seed and the same calls: chance comes from a generator of their own, which
is seeded from the world's, so that other draws neither change them nor are changed by them.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import orjson

from nagaya.simulators.proxmox.failure import Failure, Unanswered, Unconnected
from nagaya.simulators.proxmox.faults.caller import caller_in
from nagaya.simulators.proxmox.faults.fault import Fault, Kind, TaskFault, TaskKind, When
from nagaya.simulators.proxmox.front.front import ROOT
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.node import Unreachable
from nagaya.simulators.proxmox.tasks.runner import Task

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator, Proceed

REMEMBERED = 10_000
_JSON = "application/json;charset=UTF-8"
_BARE = frozenset({401, 595, 596})
"""Errors of the HTTP layer, which have no body."""


@dataclass(frozen=True, slots=True)
class Happening:
    """A mishap that happened."""

    time: float
    fault: int
    what: str
    """The call, or the task and the point at which it was."""
    how: str


class Faults:
    """All mishaps of an emulator. They stand in its way from the moment this is made."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self._random = random.Random(emulator.world.random.getrandbits(64))
        self._numbers = 0
        self._calls: dict[int, Fault] = {}
        self._tasks: dict[int, TaskFault] = {}
        self.happened: deque[Happening] = deque(maxlen=REMEMBERED)
        emulator.around.append(self._around)
        emulator.tasks.before_step = self._before_step

    def seed(self, seed: int) -> None:
        """Begin chance anew."""
        self._random.seed(seed)

    def set(self, fault: Fault | TaskFault) -> int:
        """Let something go wrong from now on; the number names it. The first that fits a call is the one."""
        self._numbers += 1
        fault.number = self._numbers
        if isinstance(fault, Fault):
            self._calls[fault.number] = fault
        else:
            self._tasks[fault.number] = fault
        return fault.number

    def remove(self, number: int) -> bool:
        """Let it go well again; says whether there was such a mishap."""
        return self._calls.pop(number, None) is not None or self._tasks.pop(number, None) is not None

    def clear(self) -> None:
        """Let everything go well again."""
        self._calls.clear()
        self._tasks.clear()

    @property
    def listed(self) -> Sequence[Fault | TaskFault]:
        """Those that are set, in the order in which they were."""
        return [*self._calls.values(), *self._tasks.values()]

    def _now(self, fault: Fault | TaskFault) -> bool:
        """Count something that fits, and say whether it goes wrong."""
        when: When = fault.when
        fault.met += 1
        if fault.met <= when.after or (when.times is not None and fault.happened >= when.times):
            return False
        if when.probability < 1.0 and self._random.random() >= when.probability:
            return False
        fault.happened += 1
        return True

    def _remember(self, fault: Fault | TaskFault, what: str) -> None:
        now = self._emulator.world.clock.monotonic()
        self.happened.append(Happening(now, fault.number, what, fault.kind.value))

    async def _around(self, request: Request, proceed: Proceed) -> Answer:
        fault = self._of_call(request) if self._calls else None
        if fault is None:
            return await proceed(request)
        self._remember(fault, f"{request.method} {request.path}")
        if fault.kind is Kind.FAIL:
            return _refusal(fault)
        if fault.kind is Kind.REFUSED:
            raise Unconnected(Unreachable.REFUSED.value)
        if fault.kind is Kind.HANG:
            await asyncio.Event().wait()
        if fault.kind is Kind.SLOW:
            await asyncio.sleep(fault.seconds)
        answer = await proceed(request)
        if fault.kind is Kind.LATE:
            await asyncio.sleep(fault.seconds)
        elif fault.kind is Kind.LOST:
            return Answer(596, Unreachable.HANGS_UP.value, close=True)
        elif fault.kind is Kind.CLOSED:
            raise Unanswered
        return answer

    def _of_call(self, request: Request) -> Fault | None:
        path = api_path(request.path)
        if path is None:
            return None
        caller = caller_in(request.headers)
        for fault in self._calls.values():
            if fault.calls.mean(request.method, path, request.node, caller) and self._now(fault):
                return fault
        return None

    async def _before_step(self, task: Task, step: str) -> None:
        upid = task.upid
        for fault in self._tasks.values():
            if fault.steps.mean(upid.type, upid.id, upid.node, step) and self._now(fault):
                self._remember(fault, f"{upid.type} {upid.id} at {step}")
                await self._spoil(fault, task)
                return

    async def _spoil(self, fault: TaskFault, task: Task) -> None:
        if fault.kind is TaskKind.FAIL:
            raise Failure(f"{fault.text}\n")
        if fault.kind is TaskKind.DIE:
            self._emulator.tasks.kill(task)
        await asyncio.Event().wait()


def api_path(path: str) -> str | None:
    """The part of a path behind the format, without escapes; None if it is not of the API."""
    if not path.startswith(f"{ROOT}/"):
        return None
    return "/" + unquote(path.removeprefix(f"{ROOT}/").partition("/")[2])


def _refusal(fault: Fault) -> Answer:
    if fault.status in _BARE:
        return Answer(fault.status, fault.reason, close=True)
    body: dict[str, Any] = {"data": None, "message": f"{fault.reason}\n"}
    return Answer(fault.status, fault.reason, _JSON, orjson.dumps(body), close=True)
