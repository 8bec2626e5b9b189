"""What a start accepts, and what it refuses without touching it."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import apsw
import pytest

from nagaya.apiserver.storage import (
    ABSENT,
    ANY,
    CorruptData,
    DataInUse,
    DataNotPermitted,
    DataRefused,
    ForeignData,
    NewerData,
    Store,
    open_store,
)
from nagaya.apiserver.storage.sqlite.layout import APPLICATION_ID
from nagaya.apiserver.storage.sqlite.opening import check_header
from unit.apiserver.storage.storage_world import ManualClock, as_after_a_kill, encoded


async def filled(directory: Path, clock: ManualClock, count: int = 200) -> None:
    store = await open_store(directory, clock)
    await asyncio.gather(
        *(
            store.put("configmaps", f"default/{number:04}", encoded(f"{number}", "content" * 30), expected=ABSENT)
            for number in range(count)
        )
    )
    await store.close()


def contents(directory: Path) -> dict[str, bytes]:
    """Every byte that means something: an empty log means nothing."""
    found = {name: (directory / name) for name in ("state.db", "state.db-wal")}
    data = {name: path.read_bytes() for name, path in found.items() if path.exists()}
    return {name: content for name, content in data.items() if content or name == "state.db"}


async def refused(directory: Path, clock: ManualClock, kind: type[DataRefused], *, check: bool = False) -> DataRefused:
    """A start that must fail and leave every byte as it is, and so must the next: it locks and repairs nothing."""
    before = contents(directory)
    refusals = []
    for _ in range(2):
        with pytest.raises(kind) as refusal:
            await open_store(directory, clock, check=check)
        refusals.append(str(refusal.value))
        assert contents(directory) == before
    assert refusals[0] == refusals[1]
    assert str(refusal.value.path) in refusals[0]
    assert refusal.value.remedy in refusals[0]
    return refusal.value


async def test_everything_is_there_again_after_a_proper_stop(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    first = await store.put("configmaps", "a", encoded("a", 1, {"app": "web"}), expected=ABSENT, labels={"app": "web"})
    second = await store.put("apps/deployments", "b", encoded("b", 2), expected=ABSENT)
    gone = await store.put("secrets", "c", encoded("c", 3), expected=ABSENT)
    tombstone = await store.delete("secrets", "c")
    await store.close()
    assert sorted(path.name for path in directory.iterdir()) == ["state.db", "state.key", "state.lock", "state.mark"]

    store = await open_store(directory, clock)
    assert store.revision == tombstone.revision
    for table, key, record in (("configmaps", "a", first), ("apps/deployments", "b", second)):
        again = store.get(table, key)
        assert again is not None
        assert (again.revision, again.value, again.labels) == (record.revision, record.value, record.labels)
    assert store.get("secrets", "c") is None
    (_, _, creation, deletion) = store.watch(None, 1).poll()
    assert creation.record is not None
    assert creation.record.value == gone.value
    assert deletion.previous is creation.record
    assert deletion.tombstone is not None
    assert (deletion.tombstone.revision, deletion.tombstone.value) == (tombstone.revision, gone.value)
    await store.close()


async def test_a_tombstone_with_a_value_of_its_own_keeps_it(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a", 1), expected=ABSENT)
    await store.delete("configmaps", "a", encode=encoded("a", "gone"))
    await store.close()
    store = await open_store(directory, clock)
    tombstone = store.watch(None, 1).poll()[1].tombstone
    assert tombstone is not None
    assert tombstone.object()["content"] == "gone"
    await store.close()


async def test_everything_acknowledged_is_there_after_a_kill(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    for number in range(50):
        await store.put("configmaps", f"{number:03}", encoded("a", number), expected=ABSENT)
    killed = as_after_a_kill(directory, tmp_path / "killed")
    await store.close()
    survivor = await open_store(killed, clock)
    assert [record.object()["content"] for record in survivor.list("configmaps").records] == list(range(50))
    assert (await survivor.put("configmaps", "x", encoded("x"), expected=ABSENT)).revision == 52
    await survivor.close()


async def test_revisions_never_go_back_even_if_the_newest_rows_are_compacted_away(
    directory: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    deleted = await store.delete("configmaps", "a")
    store.compact(store.revision)
    await store.close()
    store = await open_store(directory, clock)
    assert store.revision == deleted.revision
    assert (await store.put("configmaps", "a", encoded("a"), expected=ABSENT)).revision == deleted.revision + 1
    await store.close()


async def test_files_are_for_their_owner_alone(tmp_path: Path, clock: ManualClock) -> None:
    directory = tmp_path / "deep" / "data"
    store = await open_store(directory, clock)
    await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert {path.name for path in directory.iterdir()} >= {"state.db", "state.db-wal", "state.lock", "state.mark"}
    await store.close()


async def test_files_that_others_could_read_are_closed_to_them(
    directory: Path, tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(directory, clock)
    await store.put("secrets", "a", encoded("a"), expected=ABSENT)
    killed = as_after_a_kill(directory, tmp_path / "killed")
    await store.close()
    (killed / "state.lock").touch()
    for path in (killed, *killed.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o664)
    store = await open_store(killed, clock)
    assert stat.S_IMODE(killed.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in killed.iterdir()} == {0o600}
    for name in ("state.db", "state.db-wal", "state.mark", "state.lock"):
        assert f"{killed / name} was open to other users (mode 664) and is closed now" in caplog.text
    assert f"{killed} was open to other users (mode 755)" in caplog.text
    await store.close()


@pytest.mark.parametrize("name", ["state.db", "state.mark", "state.lock"])
async def test_a_symbolic_link_in_place_of_a_file_is_refused(
    directory: Path, tmp_path: Path, clock: ManualClock, name: str
) -> None:
    await filled(directory, clock, 1)
    (directory / name).rename(tmp_path / "elsewhere")
    (directory / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataNotPermitted, match="symbolic link"):
        await open_store(directory, clock)


@pytest.mark.parametrize("name", ["state.db", "state.mark", ""])
async def test_what_belongs_to_another_user_is_refused(directory: Path, clock: ManualClock, name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    await filled(directory, clock, 1)
    os.chown(directory / name, 65534, 65534)
    with pytest.raises(DataNotPermitted, match=r"it belongs to another user \(uid 65534\)"):
        await open_store(directory, clock)
    os.chown(directory / name, 0, 0)
    store = await open_store(directory, clock)
    await store.close()


@pytest.mark.parametrize(
    ("mode", "group", "refused"),
    [
        pytest.param(0o777, None, True, id="everybody"),
        pytest.param(0o1777, None, False, id="everybody, but only what is theirs"),
        pytest.param(0o775, None, False, id="a group of this user"),
        pytest.param(0o775, 65534, True, id="another group"),
        pytest.param(0o755, 65534, False, id="nobody"),
    ],
)
async def test_a_directory_that_others_can_exchange_is_refused(
    tmp_path: Path, clock: ManualClock, mode: int, group: int | None, refused: bool
) -> None:
    if group is not None and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    parent = tmp_path / "parent"
    parent.mkdir()
    os.chown(parent, -1, -1 if group is None else group)
    parent.chmod(mode)
    if refused:
        with pytest.raises(DataNotPermitted, match=f"they can write to {parent}. Choose another data directory"):
            await open_store(parent / "data", clock)
    else:
        await filled(parent / "data", clock, 1)


async def test_a_directory_may_be_named_by_a_link_of_this_user(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    await filled(directory, clock, 1)
    (tmp_path / "link").symlink_to(directory)
    store = await open_store(tmp_path / "link", clock)
    assert store.count("configmaps") == 1
    await store.close()
    if os.geteuid() == 0:
        os.chown(tmp_path / "link", 65534, 65534, follow_symlinks=False)
        for named in (tmp_path / "link", tmp_path / "link" / "new"):
            with pytest.raises(DataNotPermitted, match="link: this symbolic link belongs to another user"):
                await open_store(named, clock)
        assert not (directory / "new").exists()


async def test_a_directory_that_everybody_can_write_to_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    directory = tmp_path / "shared"
    directory.mkdir()
    directory.chmod(0o1777)
    refusal = await refused(directory, clock, DataNotPermitted)
    assert "every user" in refusal.finding
    assert list(directory.iterdir()) == []


async def test_a_file_system_that_is_read_only_is_told(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(directory, clock, 1)
    mounted = os.statvfs(directory)
    read_only = os.statvfs_result((*mounted[:8], mounted.f_flag | os.ST_RDONLY, mounted.f_namemax))
    monkeypatch.setattr(os, "statvfs", lambda _: read_only)
    refusal = await refused(directory, clock, DataNotPermitted)
    assert refusal.finding == "its file system is read-only"
    assert refusal.remedy == "Mount it so that it can be written, or choose another data directory"


async def test_a_file_that_may_only_be_read_is_enough_where_nothing_is_written_to_it(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(directory, clock, 1)
    path = directory / "state.db"
    opened = Path.open

    def open_read_only(self: Path, mode: str = "r", *args: Any, **options: Any) -> IO[Any]:
        if mode != "rb":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return opened(self, mode, *args, **options)

    monkeypatch.setattr(Path, "open", open_read_only)
    check_header(path, writable=False)
    with pytest.raises(DataNotPermitted) as refusal:
        check_header(path, writable=True)
    assert refusal.value.path == path
    assert refusal.value.finding == "cannot be read and written (Permission denied)"
    assert refusal.value.remedy == "Give the file to the user of this process (chown, and chmod 600)"


async def test_a_file_that_may_not_even_be_read_is_refused_where_nothing_is_written_to_it(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(directory, clock, 1)

    def open_nothing(self: Path, *args: Any, **options: Any) -> IO[Any]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "open", open_nothing)
    with pytest.raises(DataNotPermitted) as refusal:
        check_header(directory / "state.db", writable=False)
    assert refusal.value.finding == "cannot be read (Permission denied)"


async def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "data").write_text("something else")
    with pytest.raises(DataNotPermitted, match="cannot be used as a data directory"):
        await open_store(tmp_path / "data", clock)
    assert (tmp_path / "data").read_text() == "something else"


async def test_data_in_use_by_the_same_process_is_refused_and_free_after_closing(
    directory: Path, clock: ManualClock
) -> None:
    store = await open_store(directory, clock)
    with pytest.raises(DataInUse, match="this process"):
        await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    await store.close()
    store = await open_store(directory, clock)
    assert store.count("configmaps") == 1
    await store.close()


async def test_a_newer_schema_is_refused(directory: Path, clock: ManualClock) -> None:
    await filled(directory, clock)
    connection = apsw.Connection(str(directory / "state.db"))
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    refusal = await refused(directory, clock, NewerData)
    assert "newer version of Nagaya (schema 7; this one knows 3)" in refusal.finding


async def test_a_newer_schema_that_is_still_in_the_log_is_refused(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    await filled(directory, clock)
    connection = apsw.Connection(str(directory / "state.db"))
    connection.execute("PRAGMA user_version = 7")
    killed = as_after_a_kill(directory, tmp_path / "killed")
    connection.close()
    await refused(killed, clock, NewerData)


async def test_a_database_of_another_program_is_refused(directory: Path, clock: ManualClock) -> None:
    directory.mkdir(mode=0o700)
    connection = apsw.Connection(str(directory / "state.db"))
    connection.execute("CREATE TABLE things (name TEXT)")
    connection.close()
    refusal = await refused(directory, clock, ForeignData)
    assert "another program" in refusal.finding


@pytest.mark.parametrize("data", [b"hello " * 100, b"\x00" * 4096])
async def test_a_file_that_is_no_database_is_refused(directory: Path, clock: ManualClock, data: bytes) -> None:
    directory.mkdir(mode=0o700)
    (directory / "state.db").write_bytes(data)
    await refused(directory, clock, ForeignData)


def _nothing(data: bytearray) -> None:
    data.clear()


def _half(data: bytearray) -> None:
    del data[len(data) // 2 :]


def _not_even_a_header(data: bytearray) -> None:
    del data[60:]


def _zeroed_page(data: bytearray) -> None:
    page = len(data) // 4096 // 2
    data[page * 4096 : (page + 1) * 4096] = bytes(4096)


def _flipped_bit(data: bytearray) -> None:
    data[data.rindex(b"contentcontent")] ^= 1


def _flipped_key(data: bytearray) -> None:
    data[data.rindex(b"default/0") + 8] ^= 1


def _garbage_page(data: bytearray) -> None:
    data[4096 * 3 : 4096 * 4] = b"\xff\x13" * 2048


def _schema(data: bytearray) -> None:
    position = data.index(b"CREATE TABLE log")
    data[position : position + 12] = b"CREATE TABEL"


@pytest.mark.parametrize(
    "damage",
    [_nothing, _half, _not_even_a_header, _zeroed_page, _flipped_bit, _flipped_key, _garbage_page, _schema],
)
async def test_damage_is_refused(directory: Path, clock: ManualClock, damage: Callable[[bytearray], None]) -> None:
    await filled(directory, clock)
    path = directory / "state.db"
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)
    refusal = await refused(directory, clock, CorruptData)
    assert "Nothing was changed" in refusal.remedy
    assert "restore a backup" in refusal.remedy


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET value = substr(value, 1, 20) WHERE revision = 5",
        "UPDATE log SET key = 'default/other' WHERE revision = 5",
        "UPDATE log SET table_id = 99 WHERE revision = 5",
        "DELETE FROM facts",
        "DROP TABLE tables",
        "UPDATE log SET deleted = 1 WHERE revision = 5",
    ],
)
async def test_rows_that_are_not_what_was_written_are_refused(
    directory: Path, clock: ManualClock, statement: str
) -> None:
    await filled(directory, clock)
    connection = apsw.Connection(str(directory / "state.db"))
    connection.execute(statement)
    connection.close()
    await refused(directory, clock, CorruptData)


async def test_a_value_that_is_not_json_is_refused(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await store.put("configmaps", "default/torn", lambda _: b'{"metadata":{"labels":{"a":', expected=ANY)
    await store.close()
    refusal = await refused(directory, clock, CorruptData)
    assert "configmaps 'default/torn'" in refusal.finding


async def test_labels_that_are_no_labels_do_not_stop_a_start(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", lambda _: b'{"metadata":{"labels":{"a":1}}}', expected=ANY)
    await store.put("configmaps", "b", lambda _: b'{"metadata":[]}', expected=ANY)
    await store.close()
    store = await open_store(directory, clock)
    assert [dict(record.labels) for record in store.list("configmaps").records] == [{}, {}]
    await store.close()


async def test_a_damaged_index_is_found_when_asked_to_check_or_after_a_kill(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    """A free page that is also in use: no row looks wrong, but the next write would destroy one."""
    store = await open_store(directory, clock)
    for number in range(300):
        await store.put("configmaps", f"{number % 3}", encoded("a", "x" * 2000), expected=ANY)
    store.compact(store.revision)
    await store.close()
    path = directory / "state.db"
    data = bytearray(path.read_bytes())
    assert int.from_bytes(data[36:40], "big") > 0
    data[36:40] = (int.from_bytes(data[36:40], "big") + 3).to_bytes(4, "big")
    path.write_bytes(data)
    await refused(directory, clock, CorruptData, check=True)

    killed = tmp_path / "killed"
    killed.mkdir(mode=0o700)
    (killed / "state.db").write_bytes(data)
    (killed / "state.db-wal").write_bytes(b"\x00" * 32)
    await refused(killed, clock, CorruptData)


async def test_a_log_without_its_database_is_refused(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    await store.put("configmaps", "a", encoded("a"), expected=ABSENT)
    killed = as_after_a_kill(directory, tmp_path / "killed")
    await store.close()
    (killed / "state.db").unlink()
    refusal = await refused(killed, clock, CorruptData)
    assert "write-ahead log" in refusal.finding
    assert not (killed / "state.db").exists()


async def test_a_creation_that_was_interrupted_is_started_over(directory: Path, clock: ManualClock) -> None:
    directory.mkdir(mode=0o700)
    (directory / "state.db.new").write_bytes(b"unfinished")
    (directory / "state.db.new-wal").write_bytes(b"unfinished")
    await filled(directory, clock, 1)
    assert sorted(path.name for path in directory.iterdir()) == ["state.db", "state.key", "state.lock", "state.mark"]


async def test_the_file_says_whose_it_is(directory: Path, clock: ManualClock) -> None:
    await filled(directory, clock, 1)
    assert int.from_bytes((directory / "state.db").read_bytes()[68:72], "big") == APPLICATION_ID


async def test_giving_up_on_a_start_leaves_nothing_locked(directory: Path, clock: ManualClock) -> None:
    await filled(directory, clock)
    opening = asyncio.create_task(open_store(directory, clock))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    store: Store | None = None
    async with asyncio.timeout(60):
        while store is None:
            try:
                store = await open_store(directory, clock)
            except DataInUse:
                await asyncio.sleep(0.005)
    assert store.count("configmaps") == 200
    await store.close()
