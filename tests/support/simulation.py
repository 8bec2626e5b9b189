"""Which writes and seeds a simulation plays: a few in `make test`, all in `make test-all`; and how to replay one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence

from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import CONTROLLERS
from nagaya.kube.transport import Transport
from nagaya.world import World
from support.crashes import MortalLab
from support.lab import NAMESPACES
from support.manifests.simulated import Manifest
from support.prepared import start_prepared
from support.thoroughness import choose
from support.virtual_run import virtual_world

Around = Callable[[Transport], Transport]
WRITES = "NAGAYA_SIMULATE_WRITES"
SEEDS = "NAGAYA_SIMULATE_SEEDS"


def chosen(variable: str, default: Sequence[int], every: Sequence[int]) -> list[int]:
    """The numbers that an environment variable names, such as `3,17-20`; without it a sample, or all if thorough."""
    wanted = os.environ.get(variable, "")
    if not wanted:
        return [*choose(default, every)]
    found: list[int] = []
    for part in wanted.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def shares(numbers: Sequence[int], size: int) -> list[list[int]]:
    """The numbers in shares of about equal size, for tests that may run beside each other."""
    count = max(1, -(-len(numbers) // size))
    return [share for first in range(count) if (share := [*numbers[first::count]])]


def replay(variable: str, number: int, test: str) -> str:
    """The command that plays one number again."""
    return f"To play it again: {variable}={number} .venv/bin/pytest {test}"


class Stage:
    """A server that several planes in turn, or several namespaces, are played on."""

    def __init__(self, server: ApiServer, world: World) -> None:
        self.server = server
        self.world = world
        self._played = 0

    @contextlib.asynccontextmanager
    async def lab(self, *manifests: Manifest, around: Around = lambda transport: transport) -> AsyncIterator[MortalLab]:
        """Controllers that have yet to be started, with a namespace to play in that has some objects already."""
        self._played += 1
        lab = MortalLab(
            lambda: InProcessTransport(self.server),
            self.world,
            f"play-{self._played}",
            tuple(CONTROLLERS),
            real=False,
            around=around,
        )
        await lab.open()
        await lab.client.create(NAMESPACES, {"metadata": {"name": lab.namespace}})
        for each in manifests:
            await lab.create({**each, "metadata": {**each["metadata"], "namespace": lab.namespace}})
        try:
            yield lab
        finally:
            await lab.stop()


@contextlib.asynccontextmanager
async def stage(seed: int = 1) -> AsyncIterator[Stage]:
    """A server with Nagaya's kinds, on virtual time."""
    world = virtual_world(seed)
    server = await start_prepared(world)
    try:
        yield Stage(server, world)
    finally:
        await server.stop()
