"""Copies of running and resting data, and putting them back."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path

import apsw
import pytest

from nagaya.apiserver.storage import (
    ABSENT,
    ANY,
    Compacted,
    CorruptData,
    DataExists,
    DataInUse,
    DataRefused,
    ForeignData,
    NewerData,
    StorageFailure,
    Store,
    backup_directory,
    open_store,
    restore,
)
from nagaya.apiserver.storage.sqlite import REVISION_STEP
from unit.apiserver.storage.storage_world import ManualClock, as_after_a_kill, encoded


async def put(store: Store, key: str, content: object = None) -> int:
    return (await store.put("configmaps", key, encoded(key, content), expected=ANY)).revision


def state(store: Store) -> dict[str, tuple[int, bytes]]:
    return {record.key: (record.revision, record.value) for record in store.list("configmaps").records}


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


async def test_a_backup_made_under_load_is_the_state_at_one_revision(
    directory: Path, backup: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    for number in range(300):
        await put(store, f"{number}", "x" * 1000)
    stop = False

    async def load(client: int) -> None:
        count = 0
        while not stop:
            await put(store, f"{client}-{count % 50}", count)
            count += 1

    clients = [asyncio.create_task(load(client)) for client in range(8)]
    at_least = store.revision
    await store.backup(backup)
    at_most = store.revision
    stop = True
    await asyncio.gather(*clients)

    restored = restore(backup, tmp_path / "other", clock)
    copy = await open_store(tmp_path / "other", clock)
    revision = restored.revision - REVISION_STEP
    assert at_least <= revision <= at_most
    expected = store.list("configmaps", revision=revision)
    assert state(copy) == {record.key: (record.revision, record.value) for record in expected.records}
    assert restored.objects == len(expected.records)
    await copy.close()
    await store.close()


async def test_a_backup_is_one_file_for_its_owner_alone_and_leaves_nothing_else(
    directory: Path, backup: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(backup)
    await store.close()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert sorted(path.name for path in backup.parent.iterdir()) == ["backup.db", "data"]


async def test_a_backup_replaces_a_file_only_if_told_to(directory: Path, backup: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    backup.write_text("precious")
    with pytest.raises(DataExists, match=r"backup\.db: there is a file of that name"):
        await store.backup(backup)
    assert backup.read_text() == "precious"
    await store.backup(backup, overwrite=True)
    assert backup.read_bytes().startswith(b"SQLite format 3")
    await store.close()


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "state.lock", "../data/state.db"])
async def test_the_data_itself_is_never_replaced_by_a_copy(directory: Path, name: str, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(directory.parent / "elsewhere.db")
    place = directory / name.replace("data", directory.name)
    for overwrite in (False, True):
        with pytest.raises(DataRefused, match="this is the data itself, and no place for a copy"):
            backup_directory(directory, place, overwrite=overwrite)
    await put(store, "b")
    await store.close()
    again = await open_store(directory, clock)
    assert set(state(again)) == {"a", "b"}
    await again.close()


async def test_a_backup_that_fails_says_why_and_leaves_nothing(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    with pytest.raises(StorageFailure, match="No such file or directory"):
        await store.backup(tmp_path / "nowhere" / "backup.db")
    await put(store, "b")
    await store.close()


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        pytest.param("DROP TABLE facts", "it lacks the table facts", id="a table is missing"),
        pytest.param(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'BLOB', 'BLOB NOT NULL')",
            "NULL value in log.value",
            id="a row is not as its table says",
        ),
    ],
)
async def test_a_copy_that_is_not_intact_does_not_replace_an_earlier_backup(
    directory: Path, backup: Path, clock: ManualClock, damage: str, finding: str
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.delete("configmaps", "a")
    await store.backup(backup)
    await store.close()
    earlier = backup.read_bytes()
    connection = apsw.Connection(str(directory / "state.db"))
    connection.execute(damage)
    connection.close()
    with pytest.raises(StorageFailure, match=f"the copy is not intact: .*{finding}"):
        backup_directory(directory, backup, overwrite=True)
    assert backup.read_bytes() == earlier
    assert sorted(path.name for path in backup.parent.iterdir()) == ["backup.db", "data"]


async def test_data_can_be_backed_up_from_outside_with_and_without_a_server(
    directory: Path, backup: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    backup_directory(directory, backup)
    await put(store, "b")
    await store.close()
    backup_directory(directory, tmp_path / "second.db")
    assert restore(backup, tmp_path / "one", clock).objects == 1
    assert restore(tmp_path / "second.db", tmp_path / "two", clock).objects == 2
    store = await open_store(directory, clock)
    assert store.count("configmaps") == 2
    await store.close()


def test_a_directory_without_data_cannot_be_backed_up(tmp_path: Path, backup: Path) -> None:
    with pytest.raises(DataRefused, match="there is no database in it"):
        backup_directory(tmp_path, backup)
    assert not backup.exists()


async def test_clients_that_resume_after_a_restore_are_told_to_list_again(
    directory: Path, backup: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a", "old")
    await store.backup(backup)
    seen = await put(store, "a", "new")
    await store.close()

    restored = restore(backup, directory, clock, force=True)
    store = await open_store(directory, clock)
    assert store.revision == restored.revision > seen
    record = store.get("configmaps", "a")
    assert record is not None
    assert record.object()["content"] == "old"
    for revision in (seen, record.revision):
        with pytest.raises(Compacted):
            store.watch("configmaps", revision)
    assert await put(store, "b") == restored.revision + 1
    await store.close()


async def test_the_file_of_a_stopped_server_can_be_restored_like_a_backup(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    seen = await put(store, "a")
    await store.close()
    other = tmp_path / "other"
    restored = restore(directory / "state.db", other, clock)
    assert sorted(path.name for path in other.iterdir()) == ["state.db", "state.key", "state.lock", "state.mark"]
    store = await open_store(other, clock)
    assert store.revision == restored.revision == seen + REVISION_STEP
    assert set(state(store)) == {"a"}
    with pytest.raises(Compacted):
        store.watch("configmaps", seen)
    await store.close()


async def test_restoring_the_same_backup_twice_still_counts_forward(
    directory: Path, backup: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(backup)
    await store.close()
    revisions = []
    for _ in range(2):
        clock.advance(1)
        revisions.append(restore(backup, directory, clock, force=True).revision)
        store = await open_store(directory, clock)
        revisions.append(await put(store, "a"))
        await store.close()
    assert revisions == sorted(set(revisions))


async def test_a_restore_keeps_what_was_there(directory: Path, backup: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(backup)
    await put(store, "later")
    await store.close()
    before = (directory / "state.db").read_bytes()
    with pytest.raises(DataExists, match="there is data in it already"):
        restore(backup, directory, clock)
    assert (directory / "state.db").read_bytes() == before

    restored = restore(backup, directory, clock, force=True)
    assert restored.moved_aside == directory / "replaced-20260101T000000.000000Z"
    assert (restored.moved_aside / "state.db").read_bytes() == before
    previous = await open_store(restored.moved_aside, clock)
    assert previous.count("configmaps") == 2
    await previous.close()


async def test_a_restore_replaces_even_data_that_is_damaged(directory: Path, backup: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(backup)
    await store.close()
    (directory / "state.db").write_bytes(b"damaged" * 1000)
    (directory / "state.db-wal").write_bytes(b"also damaged")
    restored = restore(backup, directory, clock, force=True)
    assert restored.moved_aside is not None
    assert (restored.moved_aside / "state.db").read_bytes() == b"damaged" * 1000
    assert (restored.moved_aside / "state.db-wal").exists()
    store = await open_store(directory, clock)
    assert store.count("configmaps") == 1
    await store.close()


async def test_a_restore_under_a_running_server_is_refused(directory: Path, backup: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(backup)
    with pytest.raises(DataInUse):
        restore(backup, directory, clock, force=True)
    await put(store, "b")
    await store.close()


async def test_only_an_intact_backup_of_a_known_version_is_restored(
    directory: Path, backup: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    for number in range(200):
        await put(store, f"{number}", "content" * 50)
    await store.backup(backup)
    await store.close()
    good = backup.read_bytes()
    before = (directory / "state.db").read_bytes()

    flipped = bytearray(good)
    flipped[good.rindex(b"contentcontent")] ^= 1
    newer = bytearray(good)
    newer[60:64] = (9).to_bytes(4, "big")
    half = good[: len(good) // 2]
    for data, kind in ((flipped, CorruptData), (newer, NewerData), (half, CorruptData), (b"text" * 50, ForeignData)):
        backup.write_bytes(data)
        with pytest.raises(kind, match=str(backup)):
            restore(backup, directory, clock, force=True)
        assert (directory / "state.db").read_bytes() == before
        assert {path.name for path in directory.iterdir()} <= {
            "state.db",
            "state.key",
            "state.lock",
            "state.mark",
            "state.db-wal",
            "state.db-shm",
        }
    with pytest.raises(DataRefused, match="there is no such file"):
        restore(tmp_path / "missing", directory, clock, force=True)


async def test_a_live_database_is_not_taken_for_a_backup(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    with pytest.raises(ForeignData, match="write-ahead log beside it"):
        restore(directory / "state.db", tmp_path / "other", clock)
    await store.close()


async def test_a_restore_that_was_interrupted_is_noticed_instead_of_starting_empty(
    directory: Path, backup: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await put(store, "a")
    await store.backup(backup)
    await store.close()
    (directory / "state.db").rename(directory / "state.db.restoring")
    with pytest.raises(DataRefused, match="a restore was interrupted"):
        await open_store(directory, clock)
    assert restore(backup, directory, clock).objects == 1
    store = await open_store(directory, clock)
    assert store.count("configmaps") == 1
    await store.close()


async def test_the_mark_is_on_the_disk_before_the_log_leaves_its_database(
    directory: Path, backup: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut between the two renames only the mark says that the log is missing."""
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a"), expected=ANY)
    await store.backup(backup)
    as_after_a_kill(directory, directory.parent / "killed")
    await store.close()
    steps: list[str] = []
    module = sys.modules[restore.__module__]
    synchronise, rename = module.synchronise, Path.rename
    monkeypatch.setattr(module, "synchronise", lambda path: (steps.append(path.name), synchronise(path)))
    monkeypatch.setattr(Path, "rename", lambda path, to: (steps.append(f"move {path.name}"), rename(path, to)))
    restore(backup, directory.parent / "killed", clock, force=True)
    assert steps.index("state.mark") < steps.index("move state.db-wal") < steps.index("move state.db")


async def test_a_restored_store_goes_on_as_any_other(directory: Path, backup: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    for content in range(5):
        await put(store, "a", content)
    await store.put("secrets", "s", encoded("s"), expected=ABSENT)
    await store.delete("secrets", "s")
    await store.backup(backup)
    await store.close()
    restore(backup, directory, clock, force=True)
    store = await open_store(directory, clock, check=True)
    await store.put("secrets", "s", encoded("s"), expected=ABSENT)
    await store.close()
    store = await open_store(directory, clock, check=True)
    assert (store.count("configmaps"), store.count("secrets")) == (1, 1)
    await store.close()
    connection = apsw.Connection(str(directory / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.execute("SELECT count(*) FROM log").get == 2
    assert connection.execute("PRAGMA auto_vacuum").get == 2
    assert connection.execute("PRAGMA journal_mode").get == "wal"
    connection.close()
