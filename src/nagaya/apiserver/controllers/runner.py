"""Runs the server's own controllers: events of the store in, keys to look at again out.

A controller is told of every event and names the keys it wants to look at; each key is looked at once however many
events named it, and by one worker at a time. A failure is logged and the key comes back later, waiting longer each
time; it never stops other keys. All a controller remembers can be rebuilt from the store, which is what `start` does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from nagaya.apiserver.storage import Event, Store
from nagaya.world import World

log = logging.getLogger(__name__)

_FIRST_RETRY = 0.005
_LAST_RETRY = 60.0
_WORKERS = 4

Key = Hashable


class Controller(Protocol):
    """Keeps one promise of the server."""

    name: str

    def start(self) -> Iterable[Key]:
        """Look at the whole store once; the keys to begin with."""
        ...

    def on_event(self, event: Event) -> Iterable[Key]:
        """The keys that an event is a reason to look at."""
        ...

    async def sync(self, key: Key) -> float | None:
        """Make things right for a key. Returns the seconds after which to look again, None for not without a reason."""
        ...


@dataclass(frozen=True, slots=True)
class Figures:
    """How a controller is doing."""

    name: str
    waiting: int  # keys to look at
    failing: int  # keys that failed the last time
    failures: int  # since the start


class Runner:
    """The controllers of one server at work."""

    def __init__(self, store: Store, world: World, controllers: Sequence[Controller]) -> None:
        self._store = store
        self._random = world.random
        self._controllers = {each.name: each for each in controllers}
        self._queue: dict[tuple[str, Key], None] = {}  # in order of arrival
        self._busy: set[tuple[str, Key]] = set()
        self._again: set[tuple[str, Key]] = set()
        self._failures: dict[tuple[str, Key], int] = {}
        self._failed: Counter[str] = Counter()
        self._timers: dict[tuple[str, Key], asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._feed: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._stopped = False

    def start(self) -> None:
        """Take in the present state and follow the store from there on."""
        since = self._store.revision
        for controller in self._controllers.values():
            for key in controller.start():
                self.add(controller, key)
        self._feed = asyncio.create_task(self._follow(since), name="apiserver controllers")

    async def stop(self) -> None:
        """End all work. What was under way is found again at the next start."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        tasks = [*self._tasks, *([self._feed] if self._feed else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def settled(self) -> None:
        """Wait until nothing is left to do at the moment. For tests and orderly starts."""
        while self._queue or self._busy:
            self._idle.clear()
            await self._idle.wait()

    def figures(self) -> list[Figures]:
        """How every controller is doing."""
        waiting, failing = Counter(name for name, _ in self._queue), Counter(name for name, _ in self._failures)
        return [Figures(name, waiting[name], failing[name], self._failed[name]) for name in self._controllers]

    def add(self, controller: Controller, key: Key) -> None:
        """Have a key looked at soon."""
        self._add((controller.name, key))

    def _add(self, item: tuple[str, Key]) -> None:
        if self._stopped:
            return
        if (timer := self._timers.pop(item, None)) is not None:
            timer.cancel()
        if item in self._busy:
            self._again.add(item)
            return
        self._queue[item] = None
        if len(self._tasks) < _WORKERS:
            task = asyncio.create_task(self._work(), name="apiserver controller")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _follow(self, since: int) -> None:
        async for batch in self._store.watch(None, since):
            for event in batch:
                for controller in self._controllers.values():
                    for key in controller.on_event(event):
                        self._add((controller.name, key))

    async def _work(self) -> None:
        """Look at keys until none is left."""
        while self._queue:
            item = next(iter(self._queue))
            del self._queue[item]
            self._busy.add(item)
            try:
                await self._sync(item)
            finally:
                self._busy.discard(item)
                if item in self._again:
                    self._again.discard(item)
                    self._queue[item] = None
        if not self._busy:
            self._idle.set()

    async def _sync(self, item: tuple[str, Key]) -> None:
        name, key = item
        try:
            after = await self._controllers[name].sync(key)
        except Exception:
            self._failed[name] += 1
            failures = self._failures[item] = self._failures.get(item, 0) + 1
            after = min(_FIRST_RETRY * 2 ** (failures - 1), _LAST_RETRY) * (1 + self._random.random() / 4)
            log.warning("%s: %s failed (try %d, again in %.1f s)", name, key, failures, after, exc_info=True)
        else:
            self._failures.pop(item, None)
        if after is not None and item not in self._again:
            loop = asyncio.get_running_loop()
            self._timers[item] = loop.call_later(after, self._due, item)

    def _due(self, item: tuple[str, Key]) -> None:
        self._timers.pop(item, None)
        self._add(item)
