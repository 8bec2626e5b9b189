"""Creating a draft when a call fails or is interrupted after the dry run: all objects are there afterwards, or none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.apiserver.server import ApiServer
from nagaya.blueprints.applying import NotCreated, Step, create, examine
from nagaya.blueprints.blueprint import blueprint
from nagaya.blueprints.wish import HOSTED, KUBEADM, SIMULATED, Wish
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from nagaya.kube.transport import Answer, AnswerLost, Call, Unreachable
from nagaya.world import World
from support.prepared import start_prepared
from support.transports import refuses

WISH = Wish("shop", "default", "v1.36.3", SIMULATED, KUBEADM, workers=2)
HOW = ("refused", "unreachable", "reply lost", "interrupted")


class Faulty(InProcessTransport):
    """Fails the write number `at` and its repetitions, or interrupts the command during it."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server)
        self.at, self.how = -1, ""
        self.writes: list[Call] = []
        self.refuse_deletes = False

    async def send(self, call: Call) -> Answer:
        if call.method == "DELETE" and self.refuse_deletes:
            return refuses(403, "Forbidden", "no deletes")
        if call.method != "PATCH" or "dryRun" in call.query:
            return await super().send(call)
        self.writes.append(call)
        if not 0 <= self.at < len(self.writes) or (self.how == "interrupted" and len(self.writes) > self.at + 1):
            return await super().send(call)
        match self.how:
            case "refused":
                return refuses(403, "Forbidden", "exceeded quota")
            case "unreachable":
                raise Unreachable(call, "connection refused")
            case "reply lost":
                await super().send(call)
                raise AnswerLost(call, "connection reset")
            case _:
                (command,) = [task for task in asyncio.all_tasks() if task.get_name() == "command"]
                command.cancel()
                await asyncio.sleep(0)  # the command hears of it before the write takes effect
                return await super().send(call)


@dataclass
class Bench:
    """A management API that knows all kinds, without controllers."""

    transport: Faulty
    client: Client

    async def create(self, steps: list[Step]) -> None:
        await asyncio.create_task(create(self.client, steps), name="command")

    async def present(self, steps: list[Step]) -> list[str]:
        """The objects of a draft that exist."""
        found = []
        for step in steps:
            try:
                await self.client.get(step.kind, step.namespace, step.name)
            except NotFound:
                continue
            found.append(str(step))
        return found


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    world = World()
    server = await start_prepared(world)
    transport = Faulty(server)
    client = Client(transport, world=world, field_manager="nagaya-cli")
    yield Bench(transport, client)
    await client.close()
    await server.stop()


@pytest.mark.slow
@pytest.mark.long("The client repeats calls that were not sent, after pauses in real time")
@pytest.mark.parametrize("how", HOW)
async def test_a_failure_at_any_call_leaves_nothing(bench: Bench, how: str) -> None:
    steps = await examine(bench.client, blueprint(WISH))
    for at in range(len(steps)):
        bench.transport.at, bench.transport.how, bench.transport.writes = at, how, []
        with pytest.raises(asyncio.CancelledError if how == "interrupted" else NotCreated) as raised:
            await bench.create(steps)
        assert await bench.present(steps) == [], at
        if how != "interrupted":
            assert "Nothing was created." in str(raised.value)
    bench.transport.at = -1
    await bench.create(steps)
    assert len(await bench.present(steps)) == len(steps)


@pytest.mark.parametrize("control_plane", [KUBEADM, HOSTED])
async def test_the_cluster_comes_last(bench: Bench, control_plane: str) -> None:
    steps = await examine(bench.client, blueprint(replace(WISH, control_plane=control_plane)))
    await bench.create(steps)
    assert ["/clusters/" in call.path for call in bench.transport.writes] == [False] * (len(steps) - 1) + [True]


async def test_objects_that_were_there_before_stay(bench: Bench) -> None:
    await bench.create(await examine(bench.client, blueprint(WISH)))
    await bench.client.delete(CLUSTERS, "default", "shop")
    await bench.client.delete(MACHINE_DEPLOYMENTS, "default", "shop-workers")
    steps = await examine(bench.client, blueprint(WISH))
    before = await bench.present(steps)
    bench.transport.writes, bench.transport.at, bench.transport.how = [], 1, "refused"
    with pytest.raises(NotCreated, match=r"^Cluster shop was not created: .*exceeded quota\. Nothing was created\.$"):
        await bench.create(steps)
    assert await bench.present(steps) == before


async def test_an_object_that_somebody_else_created_meanwhile_stays(bench: Bench) -> None:
    steps = await examine(bench.client, blueprint(WISH))
    other = next(step for step in steps if step.kind.kind == "MachineDeployment")
    await bench.client.create(other.kind, other.manifest)
    bench.transport.at, bench.transport.how = len(steps) - 1, "refused"
    with pytest.raises(NotCreated):
        await bench.create(steps)
    assert await bench.present(steps) == [str(other)]


@pytest.mark.parametrize("how", HOW)
async def test_objects_of_another_run_of_the_same_command_stay(bench: Bench, how: str) -> None:
    steps = await examine(bench.client, blueprint(WISH))
    await bench.create(steps[1:4])
    before = await bench.present(steps)
    bench.transport.how = how
    for at in (len(steps) - 1, *([1] if how in ("refused", "interrupted") else [])):
        bench.transport.writes, bench.transport.at = [], at
        with pytest.raises(asyncio.CancelledError if how == "interrupted" else NotCreated):
            await bench.create(steps)
        assert await bench.present(steps) == before


@pytest.mark.parametrize("how", HOW)
async def test_what_cannot_be_deleted_again_is_named(bench: Bench, how: str) -> None:
    steps = await examine(bench.client, blueprint(WISH))
    bench.transport.at, bench.transport.how, bench.transport.refuse_deletes = 1, how, True
    with pytest.raises(NotCreated, match=r"Delete what exists of this: .*SimulatedCluster shop"):
        await bench.create(steps)
