from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest

from nagaya.kube.controller import Controller, Reconcile, Result, Watch
from nagaya.kube.errors import Conflict
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.mapping import label
from nagaya.kube.transport import Call
from support.crates import COLLECTION, CRATES
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

A, B = Key("n", "a"), Key("n", "b")


@asynccontextmanager
async def running(
    server: FakeServer, reconcile: Reconcile, *, watches: Sequence[Watch] = (), **options: Any
) -> AsyncIterator[Manager]:
    world = virtual_world()
    manager = Manager(server.client(world), world)
    manager.add(Controller("test", CRATES, reconcile, watches=watches, **options))
    await manager.start()
    yield manager
    await manager.stop()


def put(server: FakeServer, name: str, **labels: str) -> None:
    server.put(COLLECTION, "n", name, metadata={"labels": labels})


def test_what_is_there_and_what_changes_is_reconciled() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        keys: list[Key] = []

        async def reconcile(key: Key) -> None:
            keys.append(key)

        async with running(server, reconcile) as manager:
            await manager.idle()
            assert keys == [A]
            put(server, "b")
            server.remove(COLLECTION, "n", "a")
            await manager.idle()
            assert sorted(keys) == [A, A, B]

    run(main())


def test_news_of_others_settle_and_what_is_wanted_does_not_wait() -> None:
    async def main() -> None:
        server = FakeServer()
        server.put(COLLECTION, "n", "a", metadata={"generation": 1})
        turns: list[float] = []

        async def reconcile(key: Key) -> None:
            turns.append(asyncio.get_running_loop().time())

        async with running(server, reconcile, settle=1.0) as manager:
            await manager.idle()
            begin = asyncio.get_running_loop().time()
            turns.clear()
            for number in range(5):
                server.put(COLLECTION, "n", "a", metadata={"generation": 1, "labels": {"number": str(number)}})
                await asyncio.sleep(0.1)
            await manager.idle()
            assert [round(turn - begin, 3) for turn in turns] == [1.0]
            turns.clear()
            begin = asyncio.get_running_loop().time()
            server.put(COLLECTION, "n", "a", metadata={"generation": 2})
            await asyncio.sleep(0.1)
            assert [round(turn - begin, 3) for turn in turns] == [0.0]
            server.remove(COLLECTION, "n", "a")
            await asyncio.sleep(0.1)
            assert len(turns) == 2

    run(main())


def test_what_is_left_to_tell_is_work_at_hand_and_waits_for_no_longer_than_it_may() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        turns: list[float] = []

        async def reconcile(key: Key) -> Result:
            turns.append(asyncio.get_running_loop().time())
            return Result(requeue_after=None if len(turns) < 3 else 100.0, tell_after=1.0 if len(turns) < 3 else None)

        async with running(server, reconcile) as manager:
            await manager.idle()
            begin = turns[0]
            assert [round(turn - begin, 3) for turn in turns] == [0.0, 1.0, 2.0]
            await asyncio.sleep(99)
            assert len(turns) == 3
            await asyncio.sleep(2)
            assert len(turns) == 4

    run(main())


def test_news_from_elsewhere_gather_like_those_of_others_and_only_while_it_runs() -> None:
    async def main() -> None:
        server = FakeServer()
        turns: list[float] = []

        async def reconcile(key: Key) -> None:
            turns.append(asyncio.get_running_loop().time())

        async with running(server, reconcile, settle=1.0) as manager:
            (controller,) = manager.controllers
            begin = asyncio.get_running_loop().time()
            controller.look_at([A])
            await asyncio.sleep(0.5)
            controller.look_at([A])
            await manager.idle()
            assert [round(turn - begin, 3) for turn in turns] == [1.0]
        controller.look_at([A])
        await asyncio.sleep(5)
        assert len(turns) == 1

    run(main())


def test_workers_are_hired_as_they_are_needed_and_know_nothing_of_who_needed_them() -> None:
    async def main() -> None:
        server = FakeServer()
        seen: list[str] = []
        around: ContextVar[str] = ContextVar("around", default="nothing")

        def workers() -> int:
            return sum(" worker " in task.get_name() for task in asyncio.all_tasks())

        async def reconcile(key: Key) -> None:
            seen.append(around.get())
            await asyncio.sleep(1)

        async with running(server, reconcile, workers=2) as manager:
            assert workers() == 0
            around.set("somebody else's work")
            for count, name in ((1, "a"), (1, "a"), (2, "b"), (2, "c")):
                manager.controllers[0].look_at([Key("n", name)])
                await asyncio.sleep(0)
                assert workers() == count
            await manager.idle()
            assert seen == ["nothing"] * 4
            put(server, "a")
            await manager.idle()
            assert workers() == 2
        assert workers() == 0

    run(main())


def test_what_was_begun_ends_when_no_reconcile_is_under_way_any_more() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        told: list[str] = []

        async def reconcile(key: Key) -> None:
            await asyncio.sleep(2)
            told.append("reconciled")

        async def ended() -> None:
            told.append("ended")

        async with running(server, reconcile, on_stop=ended):
            await asyncio.sleep(1)
        assert told == ["reconciled", "ended"]

    run(main())


def test_objects_of_others_are_left_alone_until_they_are_handed_over() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a", mine="yes")
        put(server, "b")
        keys: list[Key] = []

        async def reconcile(key: Key) -> None:
            keys.append(key)

        world = virtual_world()
        manager = Manager(server.client(world), world, concerns=lambda metadata: "mine" in metadata.labels)
        manager.add(Controller("test", CRATES, reconcile, resync=10.0))
        await manager.start()
        await asyncio.sleep(30)
        assert {*keys} == {A}
        put(server, "b", mine="yes")
        await manager.idle()
        assert keys[-1] == B
        server.remove(COLLECTION, "n", "b")
        await manager.idle()
        assert keys[-2:] == [B, B]
        await manager.stop()

    run(main())


def test_an_event_goes_before_what_was_there_at_the_start() -> None:
    async def main() -> None:
        server = FakeServer()
        for number in range(10):
            put(server, f"old{number}")
        keys: list[str] = []

        async def reconcile(key: Key) -> None:
            await asyncio.sleep(1)
            keys.append(key.name)

        async with running(server, reconcile, workers=1) as manager:
            await asyncio.sleep(0.5)
            put(server, "new")
            await manager.idle()
            assert keys.index("new") == 1

    run(main())


def test_a_reconcile_that_raises_is_retried_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def main() -> None:
        server = FakeServer()
        tries: dict[str, int] = {}

        async def reconcile(key: Key) -> None:
            tries[key.name] = tries.get(key.name, 0) + 1
            if key == A and tries["a"] < 4:
                raise RuntimeError("the disk is full")

        async with running(server, reconcile) as manager:
            put(server, "a")
            put(server, "b")
            await asyncio.sleep(0.001)
            assert manager.controllers[0].errors == {A: "RuntimeError: the disk is full"}
            await manager.idle()
            assert tries == {"a": 4, "b": 1}
            assert manager.controllers[0].errors == {}
            total = manager.metrics.registry.get_sample_value
            assert total("controller_runtime_reconcile_errors_total", {"controller": "test"}) == 3
            assert total("controller_runtime_reconcile_total", {"controller": "test", "result": "success"}) == 2
            assert total("workqueue_retries_total", {"name": "test"}) == 3
            assert total("workqueue_depth", {"name": "test"}) == 0

    run(main())
    records = [record for record in caplog.records if "the disk is full" in record.getMessage()]
    assert len(records) == 3
    assert [record.exc_info is not None for record in records] == [True, False, False], "one trace is enough"


def test_a_conflict_is_retried_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        server = FakeServer()
        tries = 0

        async def reconcile(key: Key) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise Conflict(Call("PATCH", "/x"), 409, {"reason": "Conflict", "message": "changed"})

        async with running(server, reconcile) as manager:
            put(server, "a")
            await manager.idle()
            assert tries == 2

    run(main())
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_reconcile_that_hangs_is_cut_short_and_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        server = FakeServer()
        done: list[Key] = []
        hung = 0

        async def reconcile(key: Key) -> None:
            nonlocal hung
            if key == A and hung == 0:
                hung += 1
                await asyncio.Event().wait()
            done.append(key)

        async with running(server, reconcile, workers=2, timeout=60) as manager:
            put(server, "a")
            put(server, "b")
            await asyncio.sleep(1)
            assert done == [B]
            await manager.idle()
            assert done == [B, A]

    run(main())
    assert "took longer than 60 s" in caplog.text


def test_something_cancelled_inside_a_reconcile_does_not_end_its_worker() -> None:
    async def main() -> None:
        server = FakeServer()
        tries = 0

        async def reconcile(key: Key) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise asyncio.CancelledError

        async with running(server, reconcile, workers=1) as manager:
            put(server, "a")
            await manager.idle()
            assert tries == 2

    run(main())


def test_a_result_asks_for_another_look_later() -> None:
    async def main() -> None:
        server = FakeServer()
        times: list[float] = []

        async def reconcile(key: Key) -> Result | None:
            times.append(asyncio.get_running_loop().time())
            return Result(requeue_after=30) if len(times) < 3 else None

        async with running(server, reconcile):
            put(server, "a")
            await asyncio.sleep(300)
            assert [round(later - times[0]) for later in times] == [0, 30, 60]

    run(main())


def test_everything_is_looked_at_again_after_a_while() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        count = 0

        async def reconcile(key: Key) -> None:
            nonlocal count
            count += 1

        async with running(server, reconcile, resync=600):
            await asyncio.sleep(530)
            assert count == 1
            await asyncio.sleep(140)
            assert count == 2
            await asyncio.sleep(6000)
            assert 10 <= count <= 14

    run(main())


def test_changes_of_other_kinds_lead_to_keys() -> None:
    async def main() -> None:
        server = FakeServer()
        keys: list[Key] = []

        async def reconcile(key: Key) -> None:
            keys.append(key)

        async with running(server, reconcile, watches=[Watch(CRATES, label("belongs-to"))]) as manager:
            put(server, "a", **{"belongs-to": "parent"})
            await manager.idle()
            assert sorted(keys) == [A, Key("n", "parent")]

    run(main())


def test_a_kind_may_become_known_later_and_is_watched_once() -> None:
    async def main() -> None:
        server = FakeServer()
        server.put("api/v1/secrets", "n", "s", metadata={"labels": {"belongs-to": "parent"}})
        keys: list[Key] = []

        async def reconcile(key: Key) -> None:
            keys.append(key)

        secrets = replace(CRATES, kind="Secret", plural="secrets")
        async with running(server, reconcile) as manager:
            (controller,) = manager.controllers
            for _ in range(3):
                controller.watch(secrets, label("belongs-to"))
            await manager.idle()
            assert keys == [Key("n", "parent")]
            assert server.calls.count("WATCH /api/v1/secrets") == 1

    run(main())


def test_stopping_lets_a_reconcile_end_but_not_for_ever() -> None:
    async def main() -> None:
        server = FakeServer()
        put(server, "a")
        put(server, "b")
        ended: list[Key] = []

        async def reconcile(key: Key) -> None:
            await asyncio.sleep(5 if key == A else 500)
            ended.append(key)

        async with running(server, reconcile, timeout=1000):
            await asyncio.sleep(1)
        assert ended == [A]
        assert asyncio.get_running_loop().time() < 20

    run(main())
