from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from nagaya.apiserver.storage import (
    ABSENT,
    ANY,
    Compacted,
    FutureRevision,
    Record,
    RevisionConflict,
    StorageFailure,
    Store,
    StoreClosed,
)
from unit.apiserver.storage.storage_world import ManualClock, encoded


async def test_an_empty_store_has_a_revision_that_clients_cannot_take_for_none(store: Store) -> None:
    assert store.revision > 0
    snapshot = store.list("configmaps")
    assert (snapshot.revision, list(snapshot.records), snapshot.more) == (store.revision, [], False)
    assert store.get("configmaps", "default/a") is None
    assert store.count("configmaps") == 0
    assert store.tables == []


async def test_a_put_returns_what_is_then_visible_under_the_next_revision(store: Store) -> None:
    before = store.revision
    record = await store.put("configmaps", "default/a", encoded("a", 1), expected=ABSENT, labels={"app": "web"})
    assert record is store.get("configmaps", "default/a")
    assert record.revision == store.revision == before + 1
    assert record.object() == {"metadata": {"name": "a", "resourceVersion": str(before + 1)}, "content": 1}
    assert record.labels == {"app": "web"}
    assert store.tables == ["configmaps"]


async def test_each_reading_of_an_object_is_a_dict_of_its_own(store: Store) -> None:
    record = await store.put("configmaps", "a", encoded("a", {"x": 1}), expected=ABSENT)
    record.object()["content"]["x"] = 2
    assert record.object()["content"] == {"x": 1}


@pytest.mark.parametrize("expected", [ABSENT, 1, 99])
async def test_a_put_that_expects_something_else_conflicts_and_changes_nothing(store: Store, expected: Any) -> None:
    record = await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    with pytest.raises(RevisionConflict) as conflict:
        await store.put("configmaps", "a", encoded("a", 2), expected=expected)
    assert conflict.value.current is record
    assert store.get("configmaps", "a") is record
    assert store.revision == record.revision


async def test_a_put_that_expects_a_revision_of_a_missing_key_conflicts_with_nothing(store: Store) -> None:
    with pytest.raises(RevisionConflict) as conflict:
        await store.put("configmaps", "a", encoded("a"), expected=2)
    assert conflict.value.current is None


async def test_a_put_at_the_stored_revision_replaces(store: Store) -> None:
    first = await store.put("configmaps", "a", encoded("a", 1), expected=ABSENT)
    second = await store.put("configmaps", "a", encoded("a", 2), expected=first.revision)
    assert second.revision > first.revision
    assert store.get("configmaps", "a") is second
    assert store.count("configmaps") == 1


async def test_an_encoder_that_fails_uses_up_no_revision_and_blocks_no_key(store: Store) -> None:
    def fail(revision: int) -> bytes:
        raise ValueError(revision)

    before = store.revision
    with pytest.raises(ValueError, match=str(before + 1)):
        await store.put("configmaps", "a", fail, expected=ABSENT)
    record = await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    assert record.revision == before + 1


async def test_a_delete_returns_the_last_value_at_the_revision_of_the_deletion(store: Store) -> None:
    record = await store.put("configmaps", "a", encoded("a", 1), expected=ABSENT, labels={"x": "y"})
    tombstone = await store.delete("configmaps", "a", expected=record.revision)
    assert tombstone.revision == store.revision == record.revision + 1
    assert tombstone.value == record.value
    assert tombstone.labels == record.labels
    assert store.get("configmaps", "a") is None
    assert store.count("configmaps") == 0


async def test_a_delete_can_give_its_tombstone_a_value(store: Store) -> None:
    await store.put("configmaps", "a", encoded("a", 1), expected=ABSENT)
    tombstone = await store.delete("configmaps", "a", encode=encoded("a", "gone"))
    assert tombstone.object()["metadata"]["resourceVersion"] == str(store.revision)
    assert tombstone.object()["content"] == "gone"


@pytest.mark.parametrize("expected", [ANY, ABSENT, 7])
async def test_deleting_what_is_not_there_conflicts_with_nothing(store: Store, expected: Any) -> None:
    with pytest.raises(RevisionConflict) as conflict:
        await store.delete("configmaps", "a", expected=expected)
    assert conflict.value.current is None


async def test_a_delete_at_another_revision_conflicts(store: Store) -> None:
    record = await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    with pytest.raises(RevisionConflict) as conflict:
        await store.delete("configmaps", "a", expected=record.revision + 1)
    assert conflict.value.current is record


async def test_tables_share_the_revision_and_nothing_else(store: Store) -> None:
    one = await store.put("configmaps", "default/a", encoded("a", 1), expected=ABSENT)
    two = await store.put("apps/deployments", "default/a", encoded("a", 2), expected=ABSENT)
    assert two.revision == one.revision + 1
    assert store.get("configmaps", "default/a") is one
    assert store.get("apps/deployments", "default/a") is two
    assert [record.key for record in store.list("configmaps").records] == ["default/a"]


async def test_of_writers_that_race_for_a_key_exactly_one_wins(store: Store) -> None:
    async def create(number: int) -> Record | RevisionConflict:
        try:
            return await store.put("leases", "a", encoded("a", number), expected=ABSENT)
        except RevisionConflict as conflict:
            return conflict

    results = await asyncio.gather(*(create(number) for number in range(20)))
    winners = [result for result in results if isinstance(result, Record)]
    assert [store.get("leases", "a")] == winners
    assert all(result.current is winners[0] for result in results if isinstance(result, RevisionConflict))


async def test_writers_that_expect_anything_all_succeed_one_after_the_other(store: Store) -> None:
    results = await asyncio.gather(
        *(store.put("leases", "a", encoded("a", number), expected=ANY) for number in range(20))
    )
    assert sorted(result.revision for result in results) == list(range(2, 22))
    watch = store.watch("leases", 1)
    events = watch.poll()
    assert [event.previous for event in events] == [None, *(event.record for event in events[:-1])]


async def test_a_write_is_visible_to_nobody_before_its_caller_may_know(store: Store) -> None:
    seen: list[bool] = []

    async def create(number: int) -> None:
        record = await store.put("configmaps", f"{number}", encoded("a"), expected=ABSENT)
        seen.append(store.get("configmaps", f"{number}") is record and store.revision >= record.revision)

    await asyncio.gather(*(create(number) for number in range(50)))
    assert seen == [True] * 50


async def test_a_cancelled_writer_leaves_a_whole_write_behind(store: Store) -> None:
    write = asyncio.create_task(store.put("configmaps", "a", encoded("a", 1), expected=ABSENT))
    await asyncio.sleep(0)
    write.cancel()
    second = await store.put("configmaps", "a", encoded("a", 2), expected=ANY)
    events = store.watch("configmaps", 1).poll()
    assert [event.result.object()["content"] for event in events] == [1, 2]
    assert events[1].record is second


async def test_a_cancelled_waiter_disturbs_neither_the_write_it_waits_for_nor_other_waiters(store: Store) -> None:
    def put(content: int) -> asyncio.Task[Record]:
        return asyncio.create_task(store.put("configmaps", "a", encoded("a", content), expected=ANY))

    first, waiting, third = put(1), put(2), put(3)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([first, waiting, third])
    assert not first.cancelled()
    assert not third.cancelled()
    assert third.result().object()["content"] == 3


async def test_lists_come_in_the_byte_order_of_their_keys(store: Store) -> None:
    keys = ["b/a", "a/b", "a-b/c", "a/é", "a/z", "a.b/a", "a/\U0001f600", "a/\uffff"]
    for key in keys:
        await store.put("configmaps", key, encoded(key), expected=ABSENT)
    listed = [record.key for record in store.list("configmaps").records]
    assert listed == sorted(keys, key=lambda key: key.encode())
    assert [record.key for record in store.list("configmaps", "a/").records] == [
        key for key in listed if key.startswith("a/")
    ]
    assert store.count("configmaps", "a/") == 5


async def test_pages_of_an_old_revision_fit_together_whatever_happens_meanwhile(store: Store) -> None:
    for number in range(10):
        await store.put("configmaps", f"default/{number}", encoded(str(number)), expected=ABSENT)
    first = store.list("configmaps", "default/", limit=4)
    assert (len(first.records), first.remaining, first.more) == (4, 6, True)
    await store.delete("configmaps", "default/5")
    await store.put("configmaps", "default/6", encoded("6", "changed"), expected=ANY)
    await store.put("configmaps", "default/55", encoded("new"), expected=ABSENT)
    pages = [first]
    while pages[-1].more:
        start_after = pages[-1].records[-1].key
        pages.append(store.list("configmaps", "default/", start_after=start_after, limit=4, revision=first.revision))
    records = [record for page in pages for record in page.records]
    assert [record.key for record in records] == [f"default/{number}" for number in range(10)]
    assert all(record.revision <= first.revision for record in records)
    assert [page.remaining for page in pages] == [6, 2, 0]


async def test_a_revision_that_does_not_exist_yet_is_refused(store: Store) -> None:
    with pytest.raises(FutureRevision) as refusal:
        store.list("configmaps", revision=store.revision + 1)
    assert refusal.value.current == store.revision
    with pytest.raises(FutureRevision):
        store.watch("configmaps", store.revision + 1)


async def test_compaction_takes_the_past_and_leaves_the_present(store: Store) -> None:
    for content in range(5):
        await store.put("configmaps", "a", encoded("a", content), expected=ANY)
    await store.put("configmaps", "b", encoded("b"), expected=ABSENT)
    await store.delete("configmaps", "b")
    store.compact(5)
    assert store.compacted_revision == 5
    with pytest.raises(Compacted) as compacted:
        store.list("configmaps", revision=4)
    assert compacted.value.compacted_revision == 5
    at_five = store.list("configmaps", revision=5)
    assert [record.object()["content"] for record in at_five.records] == [3]
    assert [record.key for record in store.list("configmaps").records] == ["a"]
    with pytest.raises(Compacted):
        store.watch(None, 4)
    assert [event.revision for event in store.watch(None, 5).poll()] == [6, 7, 8]


async def test_compaction_never_goes_beyond_what_is_visible(store: Store) -> None:
    await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    store.compact(1000)
    assert store.compacted_revision == store.revision == 2


async def test_a_closed_store_settles_what_it_accepted_and_takes_nothing_more(store: Store) -> None:
    writes = [asyncio.create_task(store.put("configmaps", f"{n}", encoded("a"), expected=ABSENT)) for n in range(10)]
    await asyncio.sleep(0)
    await asyncio.gather(store.close(), store.close())
    assert all(task.done() for task in writes)
    assert store.count("configmaps") == 10
    for late in (
        store.put("configmaps", "late", encoded("a"), expected=ABSENT),
        store.delete("configmaps", "1"),
    ):
        await _refuses(late)
    assert store.count("configmaps") == 10


async def _refuses(write: Coroutine[Any, Any, Record]) -> None:
    with pytest.raises(StoreClosed):
        await write


async def test_a_store_in_memory_says_that_it_has_no_backup(clock: ManualClock, tmp_path: Any) -> None:
    with pytest.raises(StorageFailure, match="in memory only"):
        await Store(clock).backup(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
