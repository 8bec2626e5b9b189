"""Forgetting old history a little at a time.

Runs in the event loop between requests, so it works in short steps and hands the loop back after each. A store with no
history has no timer: thousands of idle stores cost nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nagaya.apiserver.storage.contents import Contents
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import Retention
from nagaya.world import Clock

_STEP = 2000  # events forgotten at once: about a millisecond


class Maintenance:
    """Compacts the history of one store when it is due."""

    __slots__ = ("_clock", "_contents", "_forgotten", "_retention", "_step", "_stopped", "_timer")

    def __init__(
        self,
        contents: Contents,
        retention: Retention,
        clock: Clock,
        forgotten: Callable[[Sequence[Event]], None],
    ) -> None:
        self._contents = contents
        self._retention = retention
        self._clock = clock
        self._forgotten = forgotten
        self._timer: asyncio.TimerHandle | None = None
        self._step: asyncio.Handle | None = None
        self._stopped = False

    def schedule(self) -> None:
        """See to it that the history is looked at: soon if it is too large, else within the interval."""
        history = self._contents.history
        if self._stopped or not history.log.events:
            return
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._retention.interval_seconds, self._look)
        if self._step is None and history.must_shrink():
            self._step = asyncio.get_running_loop().call_soon(self._continue)

    def compact(self, target: int) -> None:
        """Forget everything up to a revision in one go."""
        while self._contents.history.compacted < target:
            self._forget(target)

    def stop(self) -> None:
        """Forget nothing any more."""
        self._stopped = True
        for handle in (self._timer, self._step):
            if handle is not None:
                handle.cancel()

    def _look(self) -> None:
        self._timer = None
        self._contents.history.mark(self._contents.revision, self._clock.monotonic())
        if self._step is None:
            self._continue()
        self.schedule()

    def _continue(self) -> None:
        self._step = None
        history = self._contents.history
        self._forget(history.compactable(self._clock.monotonic()))
        if history.log.events and (
            history.log.events[0].revision <= history.compactable(self._clock.monotonic()) or history.must_shrink()
        ):
            self._step = asyncio.get_running_loop().call_soon(self._continue)

    def _forget(self, target: int) -> None:
        before = self._contents.history.compacted
        events = self._contents.compact(target, _STEP)
        if self._contents.history.compacted > before:
            self._forgotten(events)
