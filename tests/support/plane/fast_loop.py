"""Virtual time for many short stories: a loop that asks the system for nothing as long as it has nobody to ask about.

In a story there are no sockets and no threads, so a turn of the loop needs no call to the system. What would be done in
a thread is done at once: which of two threads comes to its end first is nothing that a seed could decide. Turns take no
time: how many of them an exchange of keys needs is by chance, and nothing may come of that. Waits end at whole
microseconds, because those that are shorter than the clock can tell apart would never end; those that end at the same
one end in the order in which they began.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from support.virtual_time import VirtualLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
PER_SECOND = 1e6
APART = 1e-11
"""Seconds between two waits that begin one after the other, and would end together."""
TURNS = 4096
"""So many are told apart."""


class FastLoop(VirtualLoop):
    """A virtual loop."""

    def __init__(self) -> None:
        super().__init__()
        self._waits = 0
        leaping = self._leaping
        waiting = leaping.select
        files = leaping.get_map()
        own = len(files)

        def select(timeout: float | None = None) -> Any:
            if leaping.threads or len(files) > own or timeout is None:
                return waiting(timeout)
            if timeout > 0:
                now = leaping.passed
                leaping.passed = (
                    max(math.ceil((now + timeout) * PER_SECOND), math.floor(now * PER_SECOND) + 1) / PER_SECOND
                )
            return []

        leaping.select = select  # type: ignore[method-assign]  # the loop's own selector, of this loop alone

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._waits += 1
        return super().call_at(when + self._waits % TURNS * APART, callback, *args, context=context)

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


def run(main: Coroutine[Any, Any, T]) -> T:
    """What `main` returns, on virtual time."""
    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(main)
