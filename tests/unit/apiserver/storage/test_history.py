from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from nagaya.apiserver.storage import ANY, Compacted, Retention, Store, open_store
from nagaya.apiserver.storage.history import History
from support.waiting import eventually
from unit.apiserver.storage.storage_world import ManualClock, encoded

SOON = Retention(window_seconds=300, interval_seconds=0.001)


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, directory: Path, clock: ManualClock) -> Callable[..., Awaitable[Store]]:
    async def make(retention: Retention) -> Store:
        return Store(clock, retention) if request.param == "memory" else await open_store(directory, clock, retention)

    return make


async def put(store: Store, key: str, size: int = 0) -> int:
    return (await store.put("configmaps", key, encoded(key, "x" * size), expected=ANY)).revision


async def test_history_is_kept_for_the_window_and_not_much_longer(
    make: Callable[[Retention], Awaitable[Store]], clock: ManualClock
) -> None:
    store = await make(SOON)
    old = await put(store, "a")
    clock.advance(200)
    young = await put(store, "a")
    clock.advance(99)
    await asyncio.sleep(0.05)  # shows that nothing happens: the store looks every millisecond
    assert store.compacted_revision < old
    clock.advance(2)
    await eventually(lambda: store.compacted_revision == old)
    assert [event.revision for event in store.watch(None, old).poll()] == [young]
    clock.advance(300)
    await eventually(lambda: store.compacted_revision == young)
    await store.close()


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        pytest.param(4.5, (0, 2), id="less than a spacing apart, which are one"),
        pytest.param(5.0, (1, 2), id="a spacing apart, which are two"),
        pytest.param(5.5, (1, 2), id="more than a spacing apart, which are two"),
    ],
)
def test_only_writes_less_than_a_spacing_apart_leave_the_window_together(
    apart: float, expected: tuple[int, int]
) -> None:
    history = History(Retention(window_seconds=300))
    history.mark(1, 1000.0)
    history.mark(2, 1000.0 + apart)
    assert (history.compactable(1300.0), history.compactable(1300.0 + apart)) == expected


async def test_history_is_kept_for_the_window_across_restarts(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock, SOON)
    old = await put(store, "a")
    clock.advance(200)
    young = await put(store, "a")
    await store.close()
    clock.advance(50)
    store = await open_store(directory, clock, SOON)
    assert [event.revision for event in store.watch(None, 1).poll()] == [old, young]
    clock.advance(60)
    await eventually(lambda: store.compacted_revision == old)
    await store.close()
    store = await open_store(directory, clock, SOON)
    assert store.compacted_revision == old
    with pytest.raises(Compacted):
        store.watch(None, old - 1)
    assert [event.revision for event in store.watch(None, old).poll()] == [young]
    await store.close()


async def test_only_the_cap_on_memory_shortens_the_window(
    make: Callable[[Retention], Awaitable[Store]], clock: ManualClock
) -> None:
    store = await make(Retention(max_bytes=100_000))
    for _ in range(50):
        await put(store, "a", size=1000)
    assert store.compacted_revision == 0
    for number in range(200):
        await put(store, f"{number % 7}", size=1000)
    await eventually(lambda: store._contents.history.bytes <= 100_000)
    assert 0 < store.compacted_revision < store.revision
    kept = store.watch(None, store.compacted_revision).poll()
    assert [event.revision for event in kept] == list(range(store.compacted_revision + 1, store.revision + 1))
    await store.close()


async def test_history_that_takes_too_much_memory_goes_long_before_the_next_look(
    make: Callable[[Retention], Awaitable[Store]],
) -> None:
    store = await make(Retention(interval_seconds=3600, max_bytes=5000))
    for _ in range(2):
        for _ in range(10):
            newest = await put(store, "a", size=1000)
        for _ in range(5):
            await asyncio.sleep(0)  # one turn of the event loop
        kept = [event.revision for event in store.watch(None, store.compacted_revision).poll()]
        assert 0 < len(kept) < 5
        assert kept == [*range(store.compacted_revision + 1, newest + 1)]
    await store.close()


async def test_many_events_are_forgotten_in_steps_that_leave_the_loop_to_others(clock: ManualClock) -> None:
    store = Store(clock, SOON)
    for number in range(9000):
        await put(store, f"{number}")
    clock.advance(301)
    seen: set[int] = set()
    async with asyncio.timeout(60):
        while store.compacted_revision < store.revision:
            seen.add(store.compacted_revision)
            await asyncio.sleep(0)
    assert len(seen) >= 4
    await store.close()


async def test_what_compaction_makes_superfluous_leaves_the_disk_and_nothing_else(
    directory: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    for number in range(1000):
        await put(store, f"{number % 10}", size=200)
    for number in range(5):
        await store.delete("configmaps", f"{number}")
    before = {record.key: record.value for record in store.list("configmaps").records}
    store.compact(store.revision)
    revision = store.revision
    await store.close()
    store = await open_store(directory, clock)
    assert {record.key: record.value for record in store.list("configmaps").records} == before
    assert (store.revision, store.compacted_revision) == (revision, revision)
    await store.close()
    assert _rows(directory) == 5


async def test_a_store_with_nothing_to_forget_has_no_timer(clock: ManualClock) -> None:
    def has_timer() -> bool:
        return store._maintenance._timer is not None

    store = Store(clock, SOON)
    assert not has_timer()
    await put(store, "a")
    assert has_timer()
    clock.advance(400)
    await eventually(lambda: not has_timer())
    assert store.compacted_revision == store.revision
    await store.close()


def _rows(directory: Path) -> int:
    connection = apsw.Connection(str(directory / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        count = connection.execute("SELECT count(*) FROM log").get
        assert isinstance(count, int)
        return count
    finally:
        connection.close()
