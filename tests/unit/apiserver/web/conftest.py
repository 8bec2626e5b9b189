"""A whole server in memory for tests of what is told about requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock

Start = Callable[..., Awaitable[Api]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts servers with a configuration, and stops them all."""
    servers: list[ApiServer] = []

    async def begin(**config: Any) -> Api:
        clock = MovingClock()
        users = {"admin": ADMIN, "nobody": User("nobody", groups=("system:authenticated",))}
        server = await ApiServer.start(Config(tokens=users, **config), World(clock=clock))
        servers.append(server)
        await server.settled()
        return Api(server, clock)

    yield begin
    for server in servers:
        await server.stop()
