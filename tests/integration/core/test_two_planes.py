"""Two replicas of the controllers: one works, the other waits, and takes over when the first is gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

from nagaya.cli.plane import CONTROLLERS, Plane
from nagaya.kube.client import Client
from nagaya.kube.election import Election, LostLeadership
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import Answer, Call, StreamAnswer, Transport, Unreachable
from support.lab import Lab, play_embedded
from support.manifests.simulated import Simulated

NAME = "demo-workers"


class Cable(Transport):
    """A way to the management API that can be cut."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.cut = False
        self.writes = 0

    async def send(self, call: Call) -> Answer:
        if self.cut:
            raise Unreachable(call, "the cable is cut")
        self.writes += call.method != "GET" and "leases" not in call.path
        return await self._inner.send(call)

    def stream(self, call: Call) -> AbstractAsyncContextManager[StreamAnswer]:
        if self.cut:
            raise Unreachable(call, "the cable is cut")
        return self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()


class Replica:
    """A process with controllers, as `nagaya controllers --leader-elect` runs them."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.cables = [Cable(lab.transport()), Cable(lab.transport())]
        world = lab.world
        self._client = Client(self.cables[0], world=world, field_manager="nagaya")
        self.election = Election(self._client, world, lab.namespace, "nagaya-controllers", name)
        self.plane = Plane(
            self.cables[1],
            world,
            lambda tenant: HttpTransport(tenant, world=world),
            parts=tuple(CONTROLLERS),
            guard=self.election.guard,
            tenant_ports=lab.real,
        )
        self.task = asyncio.create_task(self._run())

    @property
    def writes(self) -> int:
        """What its controllers have written."""
        return self.cables[1].writes

    def cut(self) -> None:
        """It runs on, and reaches the management API no longer."""
        for cable in self.cables:
            cable.cut = True

    async def end(self) -> None:
        """Stop it in an orderly way, as a signal does."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, LostLeadership):
            await self.task

    async def _run(self) -> None:
        async def work() -> None:
            await self.plane.start()
            await asyncio.Event().wait()

        try:
            await self.election.run(work)
        finally:
            await self.plane.stop()
            await self._client.close()


@contextlib.asynccontextmanager
async def two(lab: Lab) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two replicas, the first of which leads."""
    first = Replica(lab, "first")
    await lab.until("the first leads", lambda: _leads(first))
    second = Replica(lab, "second")
    try:
        yield first, second
    finally:
        await first.end()
        await second.end()


def _play(scenario: Callable[[Lab, Replica, Replica], object]) -> None:
    async def whole(lab: Lab) -> None:
        async with two(lab) as (first, second):
            result = scenario(lab, first, second)
            assert asyncio.iscoroutine(result)
            await result

    play_embedded(whole, parts=())


def test_only_one_of_two_replicas_works() -> None:
    async def scenario(lab: Lab, first: Replica, second: Replica) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=2).manifests())
        await lab.available("demo")
        await lab.running(2)
        assert first.writes > 0
        assert second.writes == 0
        assert not second.election.leading

    _play(scenario)


def test_the_other_goes_on_when_the_leader_stops() -> None:
    async def scenario(lab: Lab, first: Replica, second: Replica) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        before = {each.metadata.uid for each in await lab.all("Machine")}
        await first.end()
        written = first.writes
        await lab.until("the second leads", lambda: _leads(second), patience=10)
        await lab.merge("MachineDeployment", NAME, {"spec": {"replicas": 2}})
        machines = await lab.running(2)
        assert len(before & {each.metadata.uid for each in machines}) == 1, "the machine of before is kept"
        await lab.available("demo")
        assert first.writes == written

    _play(scenario)


def test_the_other_takes_over_when_the_leader_vanishes_in_the_middle_of_its_work() -> None:
    async def scenario(lab: Lab, first: Replica, second: Replica) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=3).manifests())

        async def some() -> bool:
            return len(await lab.workers()) >= 2

        await lab.until("it has begun", some)
        first.cut()
        written = first.writes
        begun = asyncio.get_running_loop().time()
        await lab.until("the second leads", lambda: _leads(second), patience=30)
        assert asyncio.get_running_loop().time() - begun > 10, "nobody may lead before the lease has run out"
        assert not first.election.leading
        await lab.available("demo")
        assert len(await lab.running(3)) == 3
        assert first.writes == written
        assert first.task.done()
        assert isinstance(first.task.exception(), LostLeadership)

    _play(scenario)


async def _leads(replica: Replica) -> bool:
    return replica.election.leading
