"""How the server's own controllers are run."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterator

import pytest

from nagaya.apiserver.controllers.runner import Runner
from nagaya.apiserver.storage import ANY, Event, Store
from nagaya.world import SystemClock, World


class Recorder:
    """Looks at every key that changes, and notes it."""

    name = "recorder"

    def __init__(self, store: Store, tables: tuple[str, ...] | None = None) -> None:
        self._store = store
        self.tables = tables
        self.seen: list[str] = []
        self.at_once = self.most_at_once = 0
        self.fail = 0
        self.confused = False
        self.again: float | None = None

    async def looks(self, count: int) -> None:
        """Wait until it has looked so many times."""
        for _ in range(1000):
            if len(self.seen) >= count:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"it has looked only {len(self.seen)} times")

    def start(self) -> Iterator[str]:
        for record in self._store.list("things").records:
            yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        if self.confused:
            raise RuntimeError("confused")
        yield event.key

    async def sync(self, key: object) -> float | None:
        assert isinstance(key, str)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        self.seen.append(key)
        if self.fail:
            self.fail -= 1
            raise RuntimeError("not yet")
        return self.again


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = Store(SystemClock())
    yield made
    await made.close()


async def put(store: Store, *keys: str) -> None:
    for key in keys:
        await store.put("things", key, lambda revision: b"{}", expected=ANY)


async def start(store: Store, recorder: Recorder) -> Runner:
    runner = Runner(store, World(random=random.Random(1)), [recorder])
    runner.start()
    return runner


async def test_a_controller_is_told_of_its_tables_only(store: Store) -> None:
    every, some, none = Recorder(store), Recorder(store, ("things", "others")), Recorder(store, ())
    some.name, none.name = "some", "none"
    runner = Runner(store, World(random=random.Random(1)), [every, some, none])
    runner.start()
    for table in ("things", "stuff", "others", "things"):
        await store.put(table, f"{table}/a", lambda revision: b"{}", expected=ANY)
        await runner.settled()
    await runner.stop()
    assert every.seen == ["things/a", "stuff/a", "others/a", "things/a"]
    assert some.seen == ["things/a", "others/a", "things/a"]
    assert none.seen == []


async def test_what_is_there_and_what_comes_is_looked_at(store: Store) -> None:
    await put(store, "a")
    recorder = Recorder(store)
    runner = await start(store, recorder)
    await put(store, "b")
    await runner.settled()
    assert sorted(recorder.seen) == ["a", "b"]
    await runner.stop()


async def test_many_changes_of_a_key_are_looked_at_together_and_never_at_the_same_time(store: Store) -> None:
    recorder = Recorder(store)
    runner = await start(store, recorder)
    await put(store, *["a"] * 50)
    await runner.settled()
    assert len(recorder.seen) <= 3
    assert recorder.most_at_once == 1
    await runner.stop()


async def test_nothing_is_overlooked_however_work_and_changes_meet(store: Store) -> None:
    recorder = Recorder(store)
    runner = await start(store, recorder)
    for number in range(300):
        await put(store, *[f"{number}-{each}" for each in range(number % 7)])
        for _ in range(number % 5):
            await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await runner.settled()
    assert set(recorder.seen) == {record.key for record in store.list("things").records}
    await runner.stop()


async def test_a_failure_comes_back_until_it_succeeds_and_is_told_in_figures(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(store)
    recorder.fail = 3
    runner = await start(store, recorder)
    with caplog.at_level(logging.WARNING):
        await put(store, "a")
        await recorder.looks(4)
        await runner.settled()
    assert "recorder: a failed (try 3" in caplog.text
    (figures,) = runner.figures()
    assert (figures.waiting, figures.failing, figures.failures) == (0, 0, 3)
    await runner.stop()


async def test_a_controller_that_trips_over_a_change_goes_on_with_the_next(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(store)
    runner = await start(store, recorder)
    recorder.confused = True
    with caplog.at_level(logging.ERROR):
        await put(store, "a")
        await runner.settled()
    assert "cannot take in the change of things a" in caplog.text
    recorder.confused = False
    await put(store, "b")
    await runner.settled()
    assert recorder.seen == ["b"]
    await runner.stop()


async def test_a_key_is_looked_at_again_when_it_asked_for_it(store: Store) -> None:
    recorder = Recorder(store)
    recorder.again = 0.01
    runner = await start(store, recorder)
    await put(store, "a")
    await recorder.looks(3)
    await runner.stop()
    seen = len(recorder.seen)
    await asyncio.sleep(0.05)  # shows that nothing happens: it would have been looked at after 0.01 s
    assert len(recorder.seen) == seen
