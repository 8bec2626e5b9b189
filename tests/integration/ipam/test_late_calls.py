"""Calls that arrive late: a process sends one, loses touch, and another takes over before it takes effect.

Each write of the first process is held in turn, while a second one works with the same pools. Then the held call
arrives. An address rests for longer than a call can be under way, so whatever the call does, nobody shares an address.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import Plane
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Transport
from support.ipam import claim, global_pool, pool
from support.ipam_town import Town
from support.passing_time import PassingLoop

LATE = 30.0
"""Seconds by which the call is late: less than an address rests."""


class Held:
    """A way to the server on which one write takes long. After it nothing passes, unless the process resumes."""

    def __init__(self, inner: Transport, number: int, *, resumes: bool) -> None:
        self._inner = inner
        self._number = number
        self._resumes = resumes
        self._writes = 0
        self.held = asyncio.Event()
        self.go = asyncio.Event()
        self.what = ""

    async def send(self, call: Call) -> Answer:
        if call.method == "GET":
            return await self._inner.send(call)
        self._writes += 1
        if self._writes > self._number and not (self._resumes and self.go.is_set()):
            raise AnswerLost(call, "the process has lost touch")
        if self._writes == self._number:
            self.what = f"{call.method} {call.path}"
            self.held.set()
            await self.go.wait()
        return await self._inner.send(call)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        async with self._inner.stream(call) as answer:
            yield answer

    async def close(self) -> None:
        await self._inner.close()


@dataclass(slots=True)
class Stage:
    """One server for all cases, each of which has a namespace and addresses of its own."""

    runner: asyncio.Runner
    town: Town
    played: int = 0


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with asyncio.Runner(loop_factory=PassingLoop) as runner:

        async def open() -> Town:
            town = Town()
            await town.open()
            return town

        made = Stage(runner, runner.run(open()))
        yield made
        runner.run(made.town.close())


async def play(town: Town, case: int, number: int, ending: str, *, resumes: bool) -> None:
    where, shared, net = f"late-{case}", f"g-{case}", f"10.1.{case}"
    await town.namespace(where)
    await town.create(
        pool("p", f"{net}.10-{net}.11", namespace=where),
        pool("q", f"{net}.10-{net}.11", namespace=where),
        global_pool(shared, f"{net}.10-{net}.12"),
    )
    await town.process()
    await asyncio.sleep(1)
    await town.end()
    held = Held(InProcessTransport(town.server), number, resumes=resumes)
    first = Plane(held, town.world, lambda tenant: HttpTransport(tenant, world=town.world), parts=("ipam",))
    await first.start()
    await town.create(claim("a", "p", namespace=where))
    async with asyncio.timeout(60):
        await held.held.wait()
    await town.process()
    await asyncio.sleep(2)
    if ending == "goes":
        await town.delete("IPAddressClaim", where, "a")
    elif ending == "vanishes":
        await town.vanish("IPAddressClaim", where, "a")
    kind = "GlobalInClusterIPPool"
    await town.create(claim("b", "q", namespace=where), claim("c", shared, namespace=where, kind=kind))
    await asyncio.sleep(LATE)
    held.go.set()
    await town.create(claim("d", "p", namespace=where), claim("e", shared, namespace=where, kind=kind))
    await asyncio.sleep(900)
    assert town.census.complaints == [], held.what
    await first.stop()
    for name in "abcde":
        await town.delete("IPAddressClaim", where, name)

    async def all_gone() -> bool:
        return not await town.all("IPAddressClaim") and not await town.all("IPAddress")

    await town.until(f"all is given back after {held.what}", all_gone)
    assert not [each for each in await town.entries((where,)) if each.spec.released_at is None]
    await town.end()
    for each in ("p", "q"):
        await town.vanish("InClusterIPPool", where, each)
    await town.vanish(kind, "", shared)


@pytest.mark.parametrize("resumes", [False, True], ids=["dead", "resuming"])
@pytest.mark.parametrize("ending", ["stays", "goes", "vanishes"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_call_that_arrives_late_gives_no_address_twice(stage: Stage, number: int, ending: str, resumes: bool) -> None:
    """The writes of the first process for a claim: its finalizer, the reservation, the IPAddress, the status."""
    stage.played += 1
    stage.runner.run(play(stage.town, stage.played, number, ending, resumes=resumes))
