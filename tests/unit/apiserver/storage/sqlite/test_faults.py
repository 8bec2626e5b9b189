"""What happens when the disk does not take a write."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import apsw
import pytest

from nagaya.apiserver.storage import ABSENT, ANY, DataRefused, Record, StorageFailure, Store, open_store
from nagaya.apiserver.storage.sqlite import database, writer
from nagaya.apiserver.storage.sqlite.mark import read_mark
from nagaya.apiserver.storage.sqlite.wal import Log
from support.waiting import eventually
from unit.apiserver.storage.storage_world import Disk, ManualClock, as_after_a_kill, encoded


async def put(store: Store, key: str, content: object = None) -> Record:
    return await store.put("configmaps", key, encoded(key, content), expected=ANY)


async def test_a_full_disk_fails_the_write_with_a_remedy_and_shows_nothing_of_it(
    directory: Path, clock: ManualClock, disk: Disk
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    await put(store, "a", 1)
    watch, revision = store.watch(None, store.revision), store.revision
    disk.write_error = apsw.FullError("injected")
    with pytest.raises(StorageFailure) as failure:
        await put(store, "a", 2)
    assert str(directory / "state.db") in failure.value.reason
    assert "the disk is full. Free space" in failure.value.reason
    assert isinstance(failure.value.__cause__, apsw.FullError)
    with pytest.raises(StorageFailure):
        await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    with pytest.raises(StorageFailure):
        await store.delete("configmaps", "a")
    assert store.revision == revision
    assert [record.object()["content"] for record in store.list("configmaps").records] == [1]
    assert store.tables == ["configmaps"]
    assert watch.poll() == ()
    disk.heal()
    await store.close()


async def test_writes_work_again_as_soon_as_the_disk_does(directory: Path, clock: ManualClock, disk: Disk) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    watch = store.watch(None, store.revision)
    await put(store, "a", 1)
    for error in (apsw.FullError("injected"), apsw.IOError("injected"), apsw.ReadOnlyError("injected")):
        disk.write_error = error
        with pytest.raises(StorageFailure):
            await store.put("pods", "b", encoded("b"), expected=ABSENT)
        disk.heal()
        await put(store, "a", str(error))
    await store.put("pods", "b", encoded("b", "at last"), expected=ABSENT)
    revisions = [event.revision for event in watch.poll()]
    assert len(revisions) == 5
    assert revisions == sorted(set(revisions))
    await store.close()
    store = await open_store(directory, clock, vfs=disk.name)
    assert [event.revision for event in store.watch(None, 1).poll()] == revisions
    record = store.get("pods", "b")
    assert record is not None
    assert record.object()["content"] == "at last"
    await store.close()


@pytest.mark.parametrize("writes_before_error", [0, 1, 2, 3])
async def test_a_write_that_breaks_off_in_the_middle_is_not_there_at_all(
    directory: Path, tmp_path: Path, clock: ManualClock, disk: Disk, writes_before_error: int
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    await put(store, "a", "acknowledged")
    disk.write_error, disk.writes_before_error = apsw.IOError("injected"), writes_before_error
    with pytest.raises(StorageFailure, match="the disk failed to write"):
        await put(store, "a", "x" * 50_000)
    killed = as_after_a_kill(directory, tmp_path / "killed")
    survivor = await open_store(killed, clock)
    assert [record.object()["content"] for record in survivor.list("configmaps").records] == ["acknowledged"]
    await survivor.close()
    disk.heal()
    await store.close()


async def test_a_disk_that_does_not_confirm_is_not_trusted(directory: Path, clock: ManualClock, disk: Disk) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    disk.sync_error = apsw.IOError("injected")
    with pytest.raises(StorageFailure):
        await put(store, "a")
    assert store.get("configmaps", "a") is None
    disk.heal()
    assert (await put(store, "a")).revision == store.revision
    await store.close()


async def test_every_acknowledged_write_waited_for_the_disk(directory: Path, clock: ManualClock, disk: Disk) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    for number in range(5):
        before = disk.syncs
        await put(store, f"{number}")
        assert disk.syncs > before
    await store.close()


async def test_writes_of_one_batch_fail_together_and_each_caller_is_told(
    directory: Path, clock: ManualClock, disk: Disk
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    disk.write_error = apsw.FullError("injected")
    results = await asyncio.gather(*(put(store, f"{number}") for number in range(20)), return_exceptions=True)
    assert [type(result) for result in results] == [StorageFailure] * 20
    assert len({id(result) for result in results}) == 20
    assert store.count("configmaps") == 0
    disk.heal()
    await store.close()


async def test_who_waited_for_a_write_that_failed_compares_with_what_was_there_before(
    directory: Path, clock: ManualClock, disk: Disk
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    original = await put(store, "a", 1)
    disk.write_error = apsw.FullError("injected")
    failing = asyncio.create_task(put(store, "a", 2))
    failing.add_done_callback(lambda _: disk.heal())
    await asyncio.sleep(0)
    waiting = asyncio.create_task(
        store.put("configmaps", "a", encoded("a", 3), expected=original.revision),
    )
    with pytest.raises(StorageFailure):
        await failing
    assert (await waiting).object()["content"] == 3
    await store.close()


async def test_garbage_that_could_not_be_removed_is_removed_later(
    directory: Path, clock: ManualClock, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    for content in range(10):
        await put(store, "a", content)
    disk.write_error = apsw.FullError("injected")
    with caplog.at_level(logging.WARNING):
        store.compact(store.revision)
        await eventually(lambda: "old history stays on disk" in caplog.text)
    disk.heal()
    await put(store, "b")
    store.compact(store.revision)
    await store.close()
    store = await open_store(directory, clock, vfs=disk.name)
    assert store.compacted_revision == store.revision
    assert store.count("configmaps") == 2
    await store.close()


async def test_a_checkpoint_that_fails_loses_nothing(
    directory: Path, clock: ManualClock, disk: Disk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_CHECKPOINT_PAGES", 1)
    store = await open_store(directory, clock, vfs=disk.name)
    disk.checkpoint_error = apsw.FullError("injected")
    with caplog.at_level(logging.WARNING):
        await put(store, "a")
        await eventually(lambda: "keeps its log" in caplog.text)
    await put(store, "b")
    await store.close()
    assert (directory / "state.db-wal").stat().st_size > 0
    disk.heal()
    store = await open_store(directory, clock, vfs=disk.name)
    assert [record.key for record in store.list("configmaps").records] == ["a", "b"]
    await store.close()
    assert not (directory / "state.db-wal").exists()


async def test_a_start_on_a_full_disk_says_so(directory: Path, clock: ManualClock, disk: Disk) -> None:
    disk.write_error = apsw.FullError("injected")
    with pytest.raises(DataRefused, match="the disk is full"):
        await open_store(directory, clock, vfs=disk.name)
    assert not (directory / "state.db").exists()
    disk.heal()
    store = await open_store(directory, clock, vfs=disk.name)
    await put(store, "a")
    await store.close()


@pytest.mark.parametrize("error", [apsw.IOError("injected"), apsw.FullError("injected")])
@pytest.mark.parametrize("fails", ["write", "sync"])
async def test_what_a_failed_write_left_in_the_log_is_gone_before_the_next(
    directory: Path, tmp_path: Path, clock: ManualClock, disk: Disk, error: apsw.Error, fails: str
) -> None:
    """A transaction whose wait for the disk failed may be whole in the log: a later start must not find it, and its
    rest must not look like damage.
    """
    store = await open_store(directory, clock, vfs=disk.name)
    await put(store, "a", "acknowledged")
    for turn in range(3):
        if fails == "sync":
            disk.sync_error = error
        else:
            disk.write_error, disk.writes_before_error = error, 9 - turn
        with pytest.raises(StorageFailure):
            await put(store, "b", "x" * (60_000 - turn * 20_000))
        disk.heal()
        await put(store, "a", turn)
        log = Log(directory / "state.db-wal")
        frames = [(frame.commits, valid) for frame, valid in log.checked()]
        assert all(valid for _, valid in frames)
        assert frames[-1][0], "the log ends with a transaction that is complete"
        assert log.count == len(frames)
        survivor = await open_store(as_after_a_kill(directory, tmp_path / f"killed-{turn}"), clock)
        assert [record.object()["content"] for record in survivor.list("configmaps").records] == [turn]
        assert survivor.revision == store.revision
        await survivor.close()
    await store.close()
    store = await open_store(directory, clock, check=True)
    assert [record.object()["content"] for record in store.list("configmaps").records] == [2]
    await store.close()


async def test_a_failed_write_as_the_log_starts_over_leaves_nothing(
    directory: Path, tmp_path: Path, clock: ManualClock, disk: Disk
) -> None:
    store = await open_store(directory, clock, vfs=disk.name)
    for number in range(20):
        await put(store, f"{number}", "x" * 3000)
    await store.close()
    store = await open_store(directory, clock, vfs=disk.name)
    disk.sync_error = apsw.IOError("injected")
    with pytest.raises(StorageFailure):
        await put(store, "late", 1)
    disk.heal()
    await put(store, "later", 2)
    survivor = await open_store(as_after_a_kill(directory, tmp_path / "killed"), clock)
    assert survivor.count("configmaps") == 21
    assert survivor.get("configmaps", "late") is None
    await survivor.close()
    await store.close()


async def test_a_database_that_lost_what_was_acknowledged_takes_no_more_writes(
    directory: Path, clock: ManualClock, disk: Disk
) -> None:
    """After an error of the disk the connection is opened anew, and what it shows is compared."""
    store = await open_store(directory, clock, vfs=disk.name)
    await put(store, "a", 1)
    before = (directory / "state.db-wal").read_bytes()
    await put(store, "a", 2)
    disk.write_error = apsw.IOError("injected")
    with pytest.raises(StorageFailure, match="the disk failed to write"):
        await put(store, "b")
    disk.heal()
    (directory / "state.db-wal").write_bytes(before)
    for _ in range(2):
        with pytest.raises(StorageFailure, match="what was acknowledged last is not there any more"):
            await put(store, "b")
    record = store.get("configmaps", "a")
    assert record is not None
    assert record.object()["content"] == 2
    await store.close()


async def test_a_disk_that_works_again_is_noticed_without_a_write(
    directory: Path, clock: ManualClock, disk: Disk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "_PROBE", 0.01)
    store = await open_store(directory, clock, vfs=disk.name)
    assert store.problem == ""
    disk.write_error = apsw.FullError("injected")
    for key in ("a", "b"):
        with pytest.raises(StorageFailure):
            await put(store, key)
    assert "the disk is full" in store.problem
    assert caplog.text.count("writes fail") == 1
    disk.heal()
    with caplog.at_level(logging.INFO):
        await eventually(lambda: store.problem == "")
    assert "writes work again" in caplog.text
    await put(store, "a")
    await store.close()


async def test_the_mark_gets_to_the_disk_in_a_quiet_moment(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def fdatasync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr("nagaya.apiserver.storage.sqlite.mark.os.fdatasync", fdatasync)
    store = await open_store(directory, clock)
    await put(store, "first")
    await eventually(lambda: store._journal._data.database.settled)  # type: ignore[union-attr] # nobody else has to know
    synced.clear()
    for number in range(3):
        await put(store, f"{number}")
    await eventually(lambda: str(directory / "state.mark") in synced)
    mark = read_mark(directory / "state.mark")
    assert mark is not None
    assert mark.acknowledged == store.revision
    await store.close()
