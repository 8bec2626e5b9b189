"""Runs the server's own controllers: events of the store in, keys to look at again out.

A controller is told of every event in its tables and names the keys it wants to look at; each key is looked at once
however many events named it, and by one worker at a time. A failure is logged and the key comes back later, waiting
longer each time; it never stops other keys. All a controller remembers can be rebuilt from the store, which is what
`start` does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.storage import Compacted, Event, Store, Watch
from nagaya.world import World

log = logging.getLogger(__name__)

_SHORTEST_WAIT = 0.001
_FIRST_RETRY = 0.005
_LAST_RETRY = 60.0
_WORKERS = 4

Key = Hashable


class Controller(Protocol):
    """Keeps one promise of the server."""

    name: str

    @property
    def tables(self) -> Collection[str] | None:
        """The tables of the store whose events it is told of; None for all."""
        ...

    def start(self) -> Iterable[Key]:
        """Look at the whole store once; the keys to begin with."""
        ...

    def on_event(self, event: Event) -> Iterable[Key]:
        """The keys that an event in one of its tables is a reason to look at."""
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
        # Who is told of the events in a table, found out when there is the first.
        self._told: dict[str, list[Controller]] = {}
        self._queue: dict[tuple[str, Key], None] = {}  # in order of arrival
        self._busy: set[tuple[str, Key]] = set()
        self._again: set[tuple[str, Key]] = set()
        self._failures: dict[tuple[str, Key], int] = {}
        self._failed: Counter[str] = Counter()
        self._timers: dict[tuple[str, Key], asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._workers = 0  # tasks that look at the queue again before they end
        self._feed: asyncio.Task[None] | None = None
        self._watch: Watch | None = None
        self._idle = asyncio.Event()
        self._stopped = False

    def start(self) -> None:
        """Take in the present state and follow the store from there on."""
        self._look_at_all()
        self._feed = asyncio.create_task(self._follow(), name="apiserver controllers")

    def _look_at_all(self) -> None:
        self._watch = self._store.watch(None, self._store.revision)
        for controller in self._controllers.values():
            for key in controller.start():
                self.add(controller, key)

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
        while True:
            if self._queue or self._busy:
                self._idle.clear()
                await self._idle.wait()
            elif self._watch is not None and self._watch.revision < self._store.revision:
                await asyncio.sleep(0)  # events are on their way to the controllers
            else:
                return

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
        if self._workers < _WORKERS:
            self._workers += 1
            task = asyncio.create_task(self._work(), name="apiserver controller")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _follow(self) -> None:
        while not self._stopped:
            assert self._watch is not None
            try:
                async for batch in self._watch:
                    for event in batch:
                        self._hand_on(event)
            except Compacted:
                log.warning("the controllers fell behind the history of the store; they look at everything again")
                self._look_at_all()
            else:
                return  # the store is closed

    def _hand_on(self, event: Event) -> None:
        told = self._told.get(event.table)
        if told is None:
            everyone = self._controllers.values()
            told = [each for each in everyone if each.tables is None or event.table in each.tables]
            self._told[event.table] = told
        for controller in told:
            try:
                for key in controller.on_event(event):
                    self._add((controller.name, key))
            except Exception:
                log.exception("%s: cannot take in the change of %s %s", controller.name, event.table, event.key)

    async def _work(self) -> None:
        """Look at keys until none is left."""
        try:
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
        finally:
            self._workers -= 1
        if not self._busy:
            self._idle.set()

    async def _sync(self, item: tuple[str, Key]) -> None:
        name, key = item
        try:
            after = await self._controllers[name].sync(key)
        except Exception as error:
            self._failed[name] += 1
            failures = self._failures[item] = self._failures.get(item, 0) + 1
            after = min(_FIRST_RETRY * 2 ** min(failures - 1, 30), _LAST_RETRY) * (1 + self._random.random() / 4)
            foreseen = isinstance(error, ApiError)  # then it says itself what is wrong
            told = "%s: %s failed (try %d, again in %.1f s): %s"
            log.warning(told, name, key, failures, after, error, exc_info=not foreseen)
        else:
            self._failures.pop(item, None)
        if after is not None and item not in self._again:
            loop = asyncio.get_running_loop()
            # Never at once: what is left of a wait may be less than the clock can tell.
            self._timers[item] = loop.call_later(max(after, _SHORTEST_WAIT), self._due, item)

    def _due(self, item: tuple[str, Key]) -> None:
        self._timers.pop(item, None)
        self._add(item)
