"""A server for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    clock = MovingClock()
    users = {"admin": ADMIN, "nobody": User("nobody"), "kubelet": User("system:node:n1", groups=("system:nodes",))}
    server = await ApiServer.start(Config(tokens=users), World(clock=clock))
    await server.settled()
    yield Api(server, clock)
    await server.stop()
