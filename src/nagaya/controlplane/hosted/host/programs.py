"""The binaries that tenants are run from, per version of Kubernetes: looked for, fetched or built in the background.

A build takes minutes, and nobody waits for it: whoever asks is told how far it is, and hears when that changes. What
was found once is remembered as long as this process lives. A failure is remembered for a while, and then tried again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from nagaya.binaries.errors import BinariesError
from nagaya.binaries.installer import Binaries, Installer
from nagaya.binaries.progress import Activity, Reporter, Unit, amount
from nagaya.world import World

log = logging.getLogger(__name__)

TRY_AGAIN: Final = 60.0
"""Seconds after which a failure is tried again: somebody may have installed what was missing."""
_TELL: Final = 5.0
"""Seconds between two sentences about the progress of one thing."""


class Installs(Protocol):
    """What provides programs (`Installer`)."""

    def ensure(self, version: str, programs: Collection[str]) -> Binaries: ...


Maker = Callable[[Reporter], Installs]


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs of one version, or why there are none."""

    paths: Mapping[str, Path] = field(default_factory=dict)
    message: str = ""
    """How far it is, or what is wrong; empty once they are there."""
    failed: bool = False

    @property
    def there(self) -> bool:
        """Whether they can be started."""
        return not self.message


@dataclass(slots=True)
class _Shelf:
    told: Programs
    task: asyncio.Task[None] | None = None
    until: float = 0.0
    """When a failure is no longer believed."""


class Stock:
    """All programs of this process."""

    def __init__(self, world: World, changed: Callable[[], None], make: Maker | None = None) -> None:
        """`changed` is called, from the event loop, when there is something new to tell about any of them."""
        self._world = world
        self._changed = changed
        self._make = make or (lambda reporter: Installer(reporter=reporter, world=world))
        self._shelves: dict[tuple[str, frozenset[str]], _Shelf] = {}

    def look(self, version: str, names: Collection[str]) -> Programs:
        """What there is. Has the rest provided, without waiting for it."""
        key = (version, frozenset(names))
        shelf = self._shelves.get(key)
        now = self._world.clock.monotonic()
        if shelf is None or (shelf.told.failed and now >= shelf.until):
            shelf = self._shelves[key] = _Shelf(Programs(message=f"Looking for the programs of Kubernetes {version}."))
            shelf.task = asyncio.create_task(self._provide(shelf, version, sorted(names)), name=f"programs {version}")
        return shelf.told

    async def close(self) -> None:
        """Wait for nothing any more. A build that is under way goes on in its thread until it ends."""
        tasks = [shelf.task for shelf in self._shelves.values() if shelf.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _provide(self, shelf: _Shelf, version: str, names: list[str]) -> None:
        loop = asyncio.get_running_loop()

        def say(sentence: str) -> None:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._tell, shelf, Programs(message=sentence))

        installer = self._make(_Said(say, self._world))
        try:
            found = await _in_thread(lambda: installer.ensure(version, names), f"programs {version}")
        except (BinariesError, OSError) as error:
            shelf.until = self._world.clock.monotonic() + TRY_AGAIN
            loop.call_later(TRY_AGAIN, self._changed)
            log.warning("Kubernetes %s: %s", version, error)
            self._tell(shelf, Programs(message=str(error), failed=True))
        else:
            self._tell(shelf, Programs({name: found.path(name) for name in names}))

    def _tell(self, shelf: _Shelf, told: Programs) -> None:
        # A sentence of the thread that comes after its result is old.
        if not (shelf.told.there or shelf.told.failed):
            shelf.told = told
            self._changed()


async def _in_thread(work: Callable[[], Binaries], name: str) -> Binaries:
    """Do it in a thread that nobody waits for when this process ends: a build takes minutes."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Binaries] = loop.create_future()

    def settle(found: Binaries | None, error: Exception | None) -> None:
        if done.done():
            return  # nobody waits any more
        if found is not None:
            done.set_result(found)
        elif error is not None:
            done.set_exception(error)

    def run() -> None:
        found, failure = None, None
        try:
            found = work()
        except Exception as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, found, failure)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await done


class _Said:
    """A reporter whose words go into a condition."""

    def __init__(self, say: Callable[[str], None], world: World) -> None:
        self._say = say
        self._world = world

    def say(self, line: str) -> None:
        """One sentence."""
        self._say(line)

    @contextmanager
    def activity(self, title: str, unit: Unit) -> Iterator[Activity]:
        """Something that takes a while."""
        self._say(f"{title} ...")
        yield _Watched(self._say, title, unit, self._world)


class _Watched:
    def __init__(self, say: Callable[[str], None], title: str, unit: Unit, world: World) -> None:
        self._say, self._title, self._unit, self._clock = say, title, unit, world.clock
        self._spoke = self._clock.monotonic()
        self._total: int | None = None
        self._done = 0
        self._note = ""

    def total(self, total: int) -> None:
        self._total = total

    def reached(self, done: int) -> None:
        self._done = done
        self.tick()

    def note(self, text: str) -> None:
        self._note = text
        self.tick()

    def tick(self) -> None:
        now = self._clock.monotonic()
        if now - self._spoke >= _TELL:
            self._spoke = now
            parts = [part for part in (amount(self._done, self._total, self._unit), self._note) if part]
            self._say(f"{self._title} ... {', '.join(parts)}".rstrip(" ."))
