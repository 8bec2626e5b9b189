"""Virtual time: an event loop that never waits but moves its clock to the next thing that is due, and that clock."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
BEGINNING = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
"""When all loops begin."""


class _Leaping(selectors.DefaultSelector):
    """Instead of waiting for a timeout, lets that much time have passed."""

    passed = 0.0
    threads = 0
    """How many are at work. They take real time, during which no virtual time passes."""

    def select(self, timeout: float | None = None) -> Any:
        if timeout == 0 and not self.threads and len(self.get_map()) == 1:
            return []  # work is waiting, and nothing but the loop's own pipe could be ready
        ready = super().select(timeout if self.threads else 0)
        if self.threads:
            return ready
        if not ready and timeout:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs hours in moments."""

    def __init__(self) -> None:
        self._leaping = _Leaping()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.passed

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        working = super().run_in_executor(executor, func, *args)
        self._leaping.threads += 1
        working.add_done_callback(self._thread_done)
        return working

    def _thread_done(self, _: object) -> None:
        self._leaping.threads -= 1


class LoopClock:
    """The loop's time as a date. Time stands still while the loop works, so the same date is asked for many times."""

    def __init__(self) -> None:
        self._passed = 0.0
        self._date = BEGINNING

    def now(self) -> datetime:
        passed = asyncio.get_running_loop().time()
        if passed != self._passed:
            self._passed, self._date = passed, BEGINNING + timedelta(seconds=passed)
        return self._date

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()
