from __future__ import annotations

import asyncio

import pytest

from nagaya.apiserver.storage import ABSENT, ANY, Compacted, Event, Store, Watch
from nagaya.apiserver.storage.watch import BATCH
from unit.apiserver.storage.storage_world import encoded


async def fill(store: Store, table: str, keys: list[str]) -> None:
    for key in keys:
        await store.put(table, key, encoded(key), expected=ANY)


async def take(watch: Watch, count: int) -> list[Event]:
    events: list[Event] = []
    async for batch in watch:
        events.extend(batch)
        if len(events) >= count:
            break
    return events


async def test_it_continues_from_history_into_what_comes_later_without_gap_or_repetition(store: Store) -> None:
    await fill(store, "configmaps", ["a", "b"])
    watch = store.watch("configmaps", store.revision - 1)
    following = asyncio.create_task(take(watch, 4))
    await asyncio.sleep(0)
    await asyncio.gather(*(fill(store, "configmaps", [key]) for key in ("c", "d", "e")))
    events = await following
    assert [event.revision for event in events] == [3, 4, 5, 6]
    assert {event.key for event in events} == {"b", "c", "d", "e"}


async def test_an_event_tells_a_creation_a_change_and_a_deletion_apart(store: Store) -> None:
    created = await store.put("configmaps", "a", encoded("a", 1), expected=ABSENT)
    changed = await store.put("configmaps", "a", encoded("a", 2), expected=created.revision)
    deleted = await store.delete("configmaps", "a")
    creation, change, deletion = store.watch("configmaps", 1).poll()
    assert (creation.record, creation.previous, creation.tombstone) == (created, None, None)
    assert (change.record, change.previous, change.tombstone) == (changed, created, None)
    assert (deletion.record, deletion.previous, deletion.tombstone) == (None, changed, deleted)
    assert [event.table for event in (creation, change, deletion)] == ["configmaps"] * 3


async def test_it_can_follow_all_tables_or_one_that_does_not_exist_yet(store: Store) -> None:
    everything, one = store.watch(None, store.revision), store.watch("pods", store.revision)
    await fill(store, "configmaps", ["a"])
    await fill(store, "pods", ["a"])
    assert [event.table for event in await take(everything, 2)] == ["configmaps", "pods"]
    assert [event.table for event in await take(one, 1)] == ["pods"]


async def test_a_prefix_hides_the_rest_but_not_the_progress(store: Store) -> None:
    watch = store.watch("configmaps", store.revision, "ns/")
    await fill(store, "configmaps", ["ns/a", "other/a", "ns-2/a"])
    assert [event.key for event in watch.poll()] == ["ns/a"]
    assert watch.poll() == ()
    assert watch.revision == store.revision


async def test_its_revision_is_that_of_the_store_once_everything_is_delivered(store: Store) -> None:
    await fill(store, "configmaps", [str(number) for number in range(BATCH + 10)])
    watch = store.watch("configmaps", 1)
    assert watch.revision == 1
    first = watch.poll()
    assert len(first) == BATCH
    assert watch.revision == first[-1].revision
    second = watch.poll()
    assert len(second) == 10
    assert watch.revision == store.revision
    await fill(store, "secrets", ["a"])
    assert watch.revision == store.revision
    await fill(store, "configmaps", ["b"])
    assert watch.revision == second[-1].revision


async def test_giving_up_while_waiting_loses_nothing(store: Store) -> None:
    watch = store.watch("configmaps", store.revision)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await anext(watch)
    await fill(store, "configmaps", ["a"])
    assert [event.key for event in await anext(watch)] == ["a"]


async def test_a_consumer_that_falls_behind_the_history_is_told(store: Store) -> None:
    watch = store.watch("configmaps", store.revision)
    await fill(store, "configmaps", ["a", "b", "c"])
    store.compact(3)
    with pytest.raises(Compacted) as compacted:
        await anext(watch)
    assert compacted.value.compacted_revision == 3


async def test_a_consumer_that_has_everything_outlives_any_compaction(store: Store) -> None:
    watch = store.watch("configmaps", store.revision)
    await fill(store, "configmaps", ["a"])
    watch.poll()
    await fill(store, "secrets", ["a", "b"])
    store.compact(store.revision)
    await fill(store, "configmaps", ["b"])
    assert [event.key for event in await anext(watch)] == ["b"]


async def test_closing_it_ends_the_iteration_of_who_waits(store: Store) -> None:
    watch, other = store.watch("configmaps", store.revision), store.watch("configmaps", store.revision)
    waiting, unaffected = asyncio.create_task(take(watch, 1)), asyncio.create_task(take(other, 1))
    await asyncio.sleep(0)
    watch.close()
    watch.close()
    assert await waiting == []
    await fill(store, "configmaps", ["a"])
    assert watch.poll() == ()
    assert len(await unaffected) == 1


async def test_closing_the_store_ends_it_after_the_last_event(store: Store) -> None:
    watch, idle = store.watch("configmaps", store.revision), store.watch("secrets", store.revision)
    following, waiting = asyncio.create_task(take(watch, 100)), asyncio.create_task(take(idle, 1))
    await asyncio.sleep(0)
    write = asyncio.create_task(fill(store, "configmaps", ["a"]))
    await asyncio.sleep(0)
    await store.close()
    await write
    assert [event.key for event in await following] == ["a"]
    assert await waiting == []


async def test_all_watchers_see_the_same_event_so_its_encoding_can_be_shared(store: Store) -> None:
    one, two = store.watch("configmaps", store.revision), store.watch(None, store.revision)
    await fill(store, "configmaps", ["a"])
    (event,) = one.poll()
    event.cache = b"encoded"
    (same,) = two.poll()
    assert same.cache == b"encoded"


async def test_encodings_of_old_events_are_let_go(store: Store) -> None:
    await fill(store, "configmaps", ["a"])
    (event,) = store.watch("configmaps", 1).poll()
    event.cache = b"encoded"
    await asyncio.gather(*(fill(store, "configmaps", [str(number)]) for number in range(1023)))
    assert event.cache == b"encoded"
    await fill(store, "configmaps", ["b"])
    assert event.cache is None


async def test_many_watchers_each_get_every_event(store: Store) -> None:
    watches = [store.watch("configmaps", store.revision) for _ in range(300)]
    following = [asyncio.create_task(take(watch, 20)) for watch in watches]
    await asyncio.sleep(0)
    await asyncio.gather(*(fill(store, "configmaps", [str(number)]) for number in range(20)))
    results = await asyncio.gather(*following)
    assert all([event.revision for event in events] == list(range(2, 22)) for events in results)


async def test_an_interrupted_watch_returns_nothing_once_and_misses_nothing(store: Store) -> None:
    watch = store.watch("configmaps", store.revision)
    waiting = asyncio.create_task(watch.next())
    await asyncio.sleep(0)
    watch.interrupt()
    assert await waiting == ()

    watch.interrupt()
    await fill(store, "configmaps", ["a"])
    assert [event.key for event in await watch.next() or ()] == ["a"]
    assert await watch.next() == ()

    waiting = asyncio.create_task(watch.next())
    await asyncio.sleep(0)
    await fill(store, "configmaps", ["b"])
    assert [event.key for event in await waiting or ()] == ["b"]


async def test_a_closed_watch_has_ended_for_whoever_waits(store: Store) -> None:
    watch = store.watch("configmaps", store.revision)
    waiting = asyncio.create_task(watch.next())
    await asyncio.sleep(0)
    watch.close()
    assert await waiting is None


async def test_who_waits_is_told_in_the_order_in_which_he_came(store: Store) -> None:
    told: list[int] = []

    async def wait(number: int) -> None:
        await store.watch("configmaps", store.revision).next()
        told.append(number)

    waiting = [asyncio.create_task(wait(number)) for number in range(50)]
    await asyncio.sleep(0)
    await fill(store, "configmaps", ["a"])
    await asyncio.gather(*waiting)
    assert told == [*range(50)]
