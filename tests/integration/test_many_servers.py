"""Many servers in one process: simulated tenants are thousands, so each has to be small and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from pathlib import Path

import orjson
import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request, Response

pytestmark = pytest.mark.long("starts a hundred servers in one process")

SERVERS = 100
MOST_MEMORY = 1.5 * 1024 * 1024  # bytes a server, each with what a new cluster has in it
ADMIN = {"admin": User("admin", "1", ("system:masters",))}
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def ask(server: ApiServer, method: str, path: str, body: object = None) -> Response:
    headers = {"Authorization": "Bearer admin", "Content-Type": "application/json"}
    return await server.handle(Request.make(method, path, b"" if body is None else orjson.dumps(body), headers))


async def start() -> ApiServer:
    server = await ApiServer.start(Config(tokens=ADMIN))
    await server.settled()
    return server


async def test_a_hundred_servers_hold_their_own_objects_cheaply() -> None:
    # What the first server loads and compiles is there for all.
    await (await start()).stop()
    gc.collect()
    tasks, threads, memory = len(asyncio.all_tasks()), threading.active_count(), resident()
    servers = [await start() for _ in range(SERVERS)]
    for number, server in enumerate(servers):
        body = {"metadata": {"name": "mine"}, "data": {"number": str(number)}}
        assert (await ask(server, "POST", CONFIG_MAPS, body)).status == 201
    gc.collect()
    each_has = (resident() - memory) / SERVERS
    for number, server in enumerate(servers):
        found = orjson.loads((await ask(server, "GET", f"{CONFIG_MAPS}/mine")).body)
        assert found["data"] == {"number": str(number)}
    for server in servers:
        await server.stop()
    await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() if not task.done()]
    assert len(left) == tasks, left
    assert threading.active_count() == threads
    assert each_has < MOST_MEMORY, f"{each_has / 1024:.0f} KiB a server"


async def test_stopped_servers_are_given_back() -> None:
    await (await start()).stop()
    gc.collect()
    memory = resident()
    for _ in range(60):
        await (await start()).stop()
    gc.collect()
    grown = (resident() - memory) / 60
    assert grown < 100 * 1024, f"each server that came and went has left {grown / 1024:.0f} KiB"
