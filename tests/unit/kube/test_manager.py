from __future__ import annotations

import asyncio

import pytest

from nagaya.kube.api import Api
from nagaya.kube.controller import Controller
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from support.crates import COLLECTION, CRATES
from support.kube import FakeServer
from support.virtual_run import run, virtual_world


async def nothing(key: Key) -> None:
    """A reconcile that is content."""


def manager_of(server: FakeServer) -> Manager:
    world = virtual_world()
    return Manager(server.client(world), world)


def test_controllers_begin_only_when_the_cache_is_full() -> None:
    async def main() -> None:
        server = FakeServer()
        server.put(COLLECTION, "n", "a")
        server.down = True
        manager = manager_of(server)
        manager.add(Controller("test", CRATES, nothing))
        starting = asyncio.create_task(manager.start())
        await asyncio.sleep(60)
        assert not starting.done()
        assert any("connection refused" in problem for problem in manager.unready())
        server.down = False
        await starting
        assert manager.unready() == manager.unwell() == []
        await manager.stop()
        assert manager.unready() == ["the process is stopping"]

    run(main())


def test_whoever_stands_by_is_ready_once_the_cache_is_full() -> None:
    async def main() -> None:
        server = FakeServer()
        server.down = True
        worked: list[Key] = []

        async def work(key: Key) -> None:
            worked.append(key)

        manager = manager_of(server)
        manager.add(Controller("test", CRATES, work))
        assert manager.unready() == ["the controllers have not been started"]
        manager.stand_by()
        await asyncio.sleep(1)
        assert manager.unready()
        server.down = False
        server.put(COLLECTION, "n", "a")
        await asyncio.sleep(60)
        assert manager.unready() == []
        assert worked == []
        await manager.start()
        await manager.idle()
        assert worked == [Key("n", "a")]
        await manager.stop()

    run(main())


def test_idle_waits_until_a_chain_of_writes_has_come_to_rest() -> None:
    """A controller that answers each change with another, five times, while the watch lags behind."""

    async def main() -> None:
        server = FakeServer()
        manager = manager_of(server)
        api = Api(manager.client, manager.cache, "test")

        async def count(key: Key) -> None:
            obj = manager.cache.get(CRATES, key)
            assert obj is not None
            number = int(obj.metadata.labels.get("count", "0"))
            if number < 5:
                await asyncio.sleep(1)
                await api.metadata(CRATES, obj, labels={"count": str(number + 1)})

        manager.add(Controller("test", CRATES, count))
        await manager.start()
        server.lag = 2.0
        server.put(COLLECTION, "n", "a")
        await manager.idle()
        assert server.objects[COLLECTION, "n", "a"]["metadata"]["labels"] == {"count": "5"}
        assert server.calls.count("PATCH /api/v1/namespaces/n/configmaps/a") == 5
        await manager.stop()

    run(main())


def test_a_reconcile_that_blocks_everything_makes_the_process_unwell() -> None:
    async def main() -> None:
        server = FakeServer()
        server.put(COLLECTION, "n", "a")
        manager = manager_of(server)

        async def forever(key: Key) -> None:
            await asyncio.sleep(10_000)

        manager.add(Controller("slow", CRATES, forever, timeout=10_000))
        await manager.start()
        await asyncio.sleep(599)
        assert manager.unwell() == []
        await asyncio.sleep(10)
        assert "slow" in manager.unwell()[0]
        await manager.stop()

    run(main())


def test_names_are_taken_once_and_nobody_comes_late() -> None:
    async def main() -> None:
        manager = manager_of(FakeServer())
        manager.add(Controller("test", CRATES, nothing))
        with pytest.raises(ValueError, match="named test"):
            manager.add(Controller("test", CRATES, nothing))
        await manager.start()
        with pytest.raises(RuntimeError, match="too late"):
            manager.add(Controller("other", CRATES, nothing))
        await manager.stop()

    run(main())
