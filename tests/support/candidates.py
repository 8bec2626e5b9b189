"""Replicas that stand for election at an embedded server, on virtual time, and whose networks fail as a test likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.election import Election
from nagaya.world import World
from support.transports import Losing
from support.virtual_run import run, virtual_world


@dataclass
class Replica:
    """A candidate whose way to the server can be broken."""

    election: Election
    way: Losing
    client: Client
    leaders: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def start(self, work: Callable[[], Awaitable[None]] | None = None) -> asyncio.Task[None]:
        self.task = asyncio.create_task(self.election.run(work or forever))
        return self.task


@dataclass
class Stage:
    """The server that they share."""

    server: ApiServer
    world: World

    def replica(self, name: str, world: World | None = None) -> Replica:
        way = Losing(InProcessTransport(self.server))
        client = Client(way, world=self.world)
        leaders: list[str] = []
        election = Election(client, world or self.world, "kube-system", "nagaya", name, on_leader=leaders.append)
        return Replica(election, way, client, leaders)


async def forever() -> None:
    """Work that does not end."""
    await asyncio.sleep(1e9)


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    world = virtual_world()
    server = await ApiServer.start(world=world)
    yield Stage(server, world)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


def play(scene: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    """Run a scene and end everything it started."""

    async def main() -> None:
        async with stage() as here:
            await scene(here)

    run(main())
