"""Controllers that die in the middle of their work, and are started again.

A crash is simulated at the one place where it matters: from a chosen write on, nothing that the controllers send
reaches the server and no answer reaches them. What a process would still do by itself after that moment can be seen by
nobody, so it may as well be stopped in good order. Simulated tenants live in the process and die with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from nagaya.cli.plane import Plane
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import Answer, Call, NoAnswer, StreamAnswer, Transport
from support.lab import Lab

QUIET = 60.0
"""So many seconds without a write, and nothing more will happen: longer than any pause of a controller that has
something to do."""
EVENTS = "/apis/events.k8s.io/"


class Killed(NoAnswer):
    """The process that made the call does not live any more."""

    def __init__(self, call: Call) -> None:
        super().__init__(call, "the process was killed")


class Mortal:
    """A way to the server that counts writes, and ends at one of them. Events do not count: nothing depends on them."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._last: int | None = None
        self._takes_effect = True
        self._interruption: tuple[int, Callable[[], Awaitable[None]]] | None = None
        self.writes: list[Call] = []
        self.reads: list[Call] = []
        self.death = asyncio.Event()

    @property
    def dead(self) -> bool:
        """Whether the process lives no more."""
        return self.death.is_set()

    def die_at(self, write: int | None, *, takes_effect: bool) -> None:
        """End at a write, counted from now on from 1: before it reaches the server, or before its answer comes."""
        self.writes.clear()
        self._last, self._takes_effect = write, takes_effect

    def interrupt_at(self, write: int, action: Callable[[], Awaitable[None]]) -> None:
        """Have something done by others when a write, counted from now on from 1, has taken effect, before its answer
        comes."""
        self.writes.clear()
        self._interruption = (write, action)

    async def send(self, call: Call) -> Answer:
        """Make a call while alive."""
        if self.dead:
            raise Killed(call)
        number = self._count(call)
        fatal = number is not None and number == self._last
        if fatal and not self._takes_effect:
            self.death.set()
            raise Killed(call)
        answer = await self._inner.send(call)
        if self._interruption is not None and number == self._interruption[0]:
            await self._interruption[1]()
        if fatal:
            self.death.set()
        if self.dead:
            raise Killed(call)
        return answer

    def _count(self, call: Call) -> int | None:
        """The number of a write."""
        if call.method == "GET":
            self.reads.append(call)
            return None
        if call.path.startswith(EVENTS):
            return None
        self.writes.append(call)
        return len(self.writes)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Make a call whose answer is read as it comes."""
        if self.dead:
            raise Killed(call)
        async with self._inner.stream(call) as answer:
            yield answer

    async def close(self) -> None:
        """Let go of every connection."""
        await self._inner.close()


@dataclass(slots=True)
class MortalLab(Lab):
    """A plane that may die. The test itself does not: it acts through a client of its own."""

    around: Callable[[Transport], Transport] = lambda transport: transport
    """What else stands between the controllers and the server."""
    mortal: Mortal = field(init=False)
    buried: asyncio.Task[None] | None = None
    deaths: int = 0

    async def open(self) -> None:
        """Let the test act, before there are controllers."""
        self.client = Client(self.transport(), world=self.world, field_manager="test")

    async def revive(self) -> None:
        """Start the controllers again after their death."""
        if self.buried is not None:
            await self.buried
        self.deaths += 1
        await self.start()

    async def start(self) -> None:
        """Start the controllers. They have not written anything yet when this returns."""
        self.mortal = Mortal(self.around(self.transport()))
        self.plane = Plane(
            self.mortal,
            self.world,
            lambda tenant: HttpTransport(tenant, world=self.world),
            parts=self.parts,
            tenant_ports=False,
        )
        await self.plane.start()
        self.buried = asyncio.create_task(self._bury(self.mortal, self.plane), name="undertaker")

    async def stop(self) -> None:
        """Stop the controllers."""
        if self.buried is not None:
            self.mortal.death.set()
            await self.buried
        await self.client.close()

    async def _bury(self, mortal: Mortal, plane: Plane) -> None:
        await mortal.death.wait()
        await plane.stop()

    async def survive(self, what: str, done: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something is reached and the controllers have come to rest; bring them to life again if they die
        before."""
        while True:
            await self.until(what, self.reviving(done))
            await self.rest()
            if not self.mortal.dead:
                return

    def reviving(self, done: Callable[[], Awaitable[bool]]) -> Callable[[], Awaitable[bool]]:
        """A check that brings the controllers to life again first, if they are dead."""

        async def reached() -> bool:
            if self.mortal.dead:
                await self.revive()
            return await done()

        return reached

    async def rest(self) -> None:
        """Wait until the controllers have not written for a while, or are dead."""
        seen, since = len(self.mortal.writes), 0.0
        while since < QUIET and not self.mortal.dead:
            await asyncio.sleep(QUIET / 12)
            now = len(self.mortal.writes)
            seen, since = now, since + QUIET / 12 if now == seen else 0.0
