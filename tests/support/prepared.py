"""A server that knows Nagaya's kinds already, for the many tests that begin with one.

Defining the kinds is most of what such a test would cost, and is the same each time. It is done once in a process; the
servers of all tests begin with the records that came of it. They share nothing else: records never change.
"""

from __future__ import annotations

from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from nagaya.api.admission.catalog import ADMISSION
from nagaya.api.catalog import PARTS
from nagaya.apiserver.custom.definitions import TABLE
from nagaya.apiserver.seed import Seed
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.storage import Store
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.plane import install
from nagaya.kube.client import Client
from nagaya.world import World
from support.virtual_run import run, virtual_world


class Defined(Seed):
    """The common records of a server, and the definitions of kinds that it serves."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._tables[TABLE] = {record.key: record for record in store.list(TABLE).records}


async def start_prepared(world: World) -> ApiServer:
    """A server in memory that serves all of Nagaya's kinds, and checks what is written of them by its rules."""
    return await ApiServer.start(Config(rules=ADMISSION, seed=_seed()), world)


def prepare() -> None:
    """Do now what is done once in a process, for the processes that are derived from it."""
    _seed()
    tenant_seed()


@cache
def tenant_seed() -> Seed:
    """What every simulated cluster begins with."""

    async def make() -> Seed:
        server = await ApiServer.start(Config(), virtual_world(0))
        try:
            await server.settled()
            return Seed(server.store)
        finally:
            await server.stop()

    return _apart(make())


@cache
def _seed() -> Seed:
    async def make() -> Seed:
        world = virtual_world(0)
        server = await ApiServer.start(Config(rules=ADMISSION), world)
        client = Client(InProcessTransport(server), world=world, field_manager="test")
        try:
            await install(client, PARTS)
            await server.settled()
            return Defined(server.store)
        finally:
            await client.close()
            await server.stop()

    return _apart(make())


def _apart(making: Coroutine[None, None, Seed]) -> Seed:
    """Made in a thread and a loop of its own, so that no test is at another time for having come first."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, making).result()
