from __future__ import annotations

import asyncio

import aiohttp
import pytest

from nagaya.apiserver.web.limits import Limits
from nagaya.cli.endpoints import Endpoints
from nagaya.kube.controller import Controller
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.world import World
from support.crates import COLLECTION, CRATES
from support.kube import FakeServer


async def test_health_readiness_and_figures_are_served() -> None:
    async def nothing(key: Key) -> None:
        return

    world = World()
    server = FakeServer()
    manager = Manager(server.client(world), world)
    manager.add(Controller("test", CRATES, nothing))
    endpoints = Endpoints(manager)
    await endpoints.start("127.0.0.1", 0)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{endpoints.port}") as session:

            async def ask(path: str) -> tuple[int, str]:
                async with session.get(path) as response:
                    return response.status, await response.text()

            assert await ask("/healthz") == (200, "ok")
            status, text = await ask("/readyz")
            assert (status, text) == (503, "the controllers have not been started")
            await manager.start()
            assert await ask("/readyz") == (200, "ok")
            server.put(COLLECTION, "n", "bad", data="no mapping")
            await manager.cache.current()
            status, text = await ask("/readyz")
            assert status == 200, "one object that cannot be read does not make the process unready"
            assert text.startswith("ok\nconfigmaps n/bad cannot be read: ")
            status, text = await ask("/metrics")
            assert status == 200
            assert 'workqueue_depth{name="test"} 0.0' in text
            assert (await ask("/nowhere"))[0] == 404
            async with session.post("/metrics", data=b"x") as response:
                assert response.status == 405
    finally:
        await endpoints.stop()
        await manager.stop()


async def test_connections_that_ask_nothing_displace_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.cli.endpoints._LIMITS", Limits(unauthenticated=20, per_address=10))
    world = World()
    endpoints = Endpoints(Manager(FakeServer().client(world), world))
    await endpoints.start("127.0.0.1", 0)
    writers = []
    try:
        for number in range(60):
            _, writer = await asyncio.open_connection("127.0.0.1", endpoints.port)
            writer.write((b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")[number % 3])
            writers.append(writer)
            if number % 10 == 0:
                reader, known = await asyncio.open_connection("127.0.0.1", endpoints.port)
                known.write(b"GET /healthz HTTP/1.0\r\n\r\n")
                async with asyncio.timeout(60):
                    assert (await reader.read()).startswith(b"HTTP/1.0 200")
                known.close()
        assert endpoints._listener is not None
        assert endpoints._listener.gate.total <= 10
    finally:
        for writer in writers:
            writer.transport.abort()
        await endpoints.stop()
