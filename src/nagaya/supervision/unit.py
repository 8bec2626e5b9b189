"""One process over all its lives.

A keeper runs as long as the process is wanted: it obtains a life (adopts the one that is there, or begins one), waits
for its end, pauses, and begins the next. Whoever wants something else stops the keeper, and only then touches the life;
so nothing here happens twice at once, and every step can be interrupted and taken up again: the next keeper looks at
what is there, never at what was planned.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Protocol

from nagaya.supervision.backoff import Backoff
from nagaya.supervision.errors import SupervisionError
from nagaya.supervision.events import (
    Adopted,
    Exited,
    Listener,
    NotStarted,
    Ready,
    Restarting,
    Started,
    Stopped,
    ending,
)
from nagaya.supervision.spec import Probe, ProcessSpec
from nagaya.supervision.status import ProcessStatus, State
from nagaya.world import World

log = logging.getLogger(__name__)

_SHORTEST_LOOK, _LONGEST_LOOK = 0.05, 1.0
_LATENESS = 0.05
"""Of the time that a process takes to get ready, how much may be added because nobody looked just then."""
_PROBE_PATIENCE = 5.0


class Life(Protocol):
    """A running process (`Instance`)."""

    @property
    def pid(self) -> int: ...
    @property
    def age(self) -> float: ...

    digest: str
    grace: float

    async def ended(self) -> int | None: ...
    async def end(self, grace: float) -> None: ...
    def release(self) -> None: ...


class Home(Protocol):
    """Where lives begin and are found (`Place`)."""

    def find(self) -> Life | None: ...
    async def start(self, spec: ProcessSpec) -> Life: ...
    async def clear(self) -> None: ...
    def last_lines(self) -> tuple[str, ...]: ...


class Unit:
    """Keeps one process running."""

    def __init__(self, name: str, home: Home, world: World, backoff: Backoff, tell: Listener) -> None:
        self.name = name
        self.home = home
        self._world = world
        self._backoff = backoff
        self._tell = tell
        self._spec: ProcessSpec | None = None
        self._life: Life | None = home.find()
        self._keeper: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._state = State.STOPPED if self._life is None else State.UNCLAIMED
        self._restarts = 0
        self._failures = 0
        self._reason = ""

    @property
    def status(self) -> ProcessStatus:
        """What there is to say now."""
        pid = None if self._life is None else self._life.pid
        digest = "" if self._spec is None else self._spec.digest
        return ProcessStatus(self.name, self._state, pid, self._restarts, digest, self._reason)

    async def ensure(self, spec: ProcessSpec) -> None:
        """Let this run. Returns when a life was obtained, or the first attempt failed; the attempts go on."""
        async with self._turn:
            unchanged = self._spec is not None and self._spec.digest == spec.digest
            self._spec = spec
            if unchanged and self._keeper is not None and not self._keeper.done():
                return
            await self._dismiss_keeper()
            self._failures = 0
            obtained = asyncio.get_running_loop().create_future()
            self._keeper = asyncio.create_task(self._keep(obtained), name=f"keeper of {self.name}")
            self._keeper.add_done_callback(_complain)
            await asyncio.wait({obtained, self._keeper}, return_when=asyncio.FIRST_COMPLETED)

    async def stop(self) -> None:
        """Let it not run. Returns when it and all that it started are gone; raises StillRunning if they are not."""
        async with self._turn:
            grace = None if self._spec is None else self._spec.grace
            self._spec = None
            await self._dismiss_keeper()
            if self._life is None:
                self._life = self.home.find()
            if self._life is not None:
                self._state = State.STOPPING
                await self._life.end(self._life.grace if grace is None else grace)
                self._life = None
                self._tell(Stopped(self.name))
            await self.home.clear()
            self._state, self._reason = State.STOPPED, ""

    async def release(self) -> None:
        """Leave it as it is and keep it no more."""
        async with self._turn:
            await self._dismiss_keeper()
            if self._life is not None:
                self._life.release()
                self._life = None

    async def _dismiss_keeper(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
            self._keeper = None

    async def _keep(self, obtained: asyncio.Future[None]) -> None:
        while True:
            lived = 0.0
            try:
                life, before = await self._obtain()
            except (SupervisionError, OSError) as failure:
                self._reason = str(failure)
                self._tell(NotStarted(self.name, self._reason))
            else:
                if not obtained.done():
                    obtained.set_result(None)
                began = self._world.clock.monotonic()
                code = await self._accompany(life)
                lived = self._world.clock.monotonic() - began + before
                lines = self.home.last_lines()
                self._reason = f"process {life.pid} {ending(code)}"
                self._life = None
                self._tell(Exited(self.name, life.pid, code, lines))
            if not obtained.done():
                obtained.set_result(None)
            self._failures = self._backoff.failures_after(self._failures, lived)
            pause = self._backoff.pause(self._failures, self._world.random)
            self._state = State.WAITING
            self._tell(Restarting(self.name, pause, self._failures))
            await asyncio.sleep(pause)
            self._restarts += 1

    async def _obtain(self) -> tuple[Life, float]:
        """A life of the wanted spec, and how long it has lasted already."""
        spec = self._spec
        assert spec is not None
        if self._life is None:
            self._life = self.home.find()
        if self._life is not None and self._life.digest != spec.digest:
            self._state = State.STOPPING
            await self._life.end(self._life.grace)
            self._life = None
            self._tell(Stopped(self.name))
        self._state = State.STARTING
        if self._life is not None:
            self._tell(Adopted(self.name, self._life.pid))
            return self._life, self._life.age
        self._life = await self.home.start(spec)
        self._tell(Started(self.name, self._life.pid))
        return self._life, 0.0

    async def _accompany(self, life: Life) -> int | None:
        """Stay with a life until its end; notice on the way that it got ready."""
        assert self._spec is not None
        looking = asyncio.create_task(self._await_ready(self._spec.ready), name=f"probe of {self.name}")
        looking.add_done_callback(_complain)
        try:
            return await life.ended()
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def _await_ready(self, probe: Probe | None) -> None:
        began = self._world.clock.monotonic()
        while probe is not None and not await _answers(probe):
            taken = self._world.clock.monotonic() - began
            await asyncio.sleep(min(max(taken * _LATENESS, _SHORTEST_LOOK), _LONGEST_LOOK))
        self._state, self._reason = State.READY, ""
        self._tell(Ready(self.name, self._world.clock.monotonic() - began))


async def _answers(probe: Probe) -> bool:
    try:
        async with asyncio.timeout(_PROBE_PATIENCE):
            return await probe()
    except Exception as error:  # whatever a probe meets, it means that the process is not ready
        log.debug("probe: %s", error)
        return False


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s ended: %s", task.get_name(), error, exc_info=error)
