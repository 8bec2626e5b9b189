from __future__ import annotations

import aiohttp

from nagaya.kube.controller import Controller
from nagaya.kube.endpoints import Endpoints
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
    finally:
        await endpoints.stop()
        await manager.stop()
