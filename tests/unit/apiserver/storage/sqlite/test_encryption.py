"""Secrets are in no file as they are, and only whoever has the key file reads them."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from nagaya.apiserver.storage import ANY, CorruptData, DataRefused, backup_directory, open_store, restore, salvage
from nagaya.apiserver.storage.errors import DataNotPermitted
from nagaya.apiserver.storage.sqlite import database, encryption, opening
from nagaya.apiserver.storage.sqlite.encryption import FORMAT, SEALED
from nagaya.apiserver.storage.sqlite.layout import Files, added, checksum
from unit.apiserver.storage.sqlite.test_rows import change, old_database
from unit.apiserver.storage.storage_world import ManualClock, as_after_a_kill, encoded

PLAIN = "correct-horse-battery"
KEY_BYTES = 32


def new_key() -> bytes:
    return base64.b64encode(os.urandom(KEY_BYTES)) + b"\n"


async def filled(directory: Path, clock: ManualClock, key: Path | None = None) -> None:
    store = await open_store(directory, clock, key=key)
    for table in ("configmaps", *sorted(SEALED)):
        for name in ("a", "b", "c"):
            content = "public" if table == "configmaps" else f"{PLAIN} {name}"
            await store.put(table, name, encoded(name, content), expected=ANY)
    await store.put("secrets", "a", encoded("a", f"{PLAIN} newer"), expected=ANY)
    await store.delete("secrets", "b", encode=encoded("b", f"{PLAIN} last"))
    await store.delete("secrets", "c")
    await store.close()


async def secrets_in(directory: Path, clock: ManualClock, key: Path | None = None) -> dict[str, Any]:
    store = await open_store(directory, clock, key=key)
    found = {each.key: each.object()["content"] for each in store.list("secrets").records}
    events = [event.result.object()["content"] for event in store.watch("secrets", store.compacted_revision).poll()]
    await store.close()
    return {**found, "events": events}


def files_with(directory: Path, text: bytes) -> list[str]:
    return sorted(each.name for each in directory.rglob("*") if each.is_file() and text in each.read_bytes())


def key_ids(path: Path) -> set[bytes]:
    connection = apsw.Connection(str(path))
    names = ", ".join(f"'{each}'" for each in SEALED)
    rows = connection.execute(f"SELECT value FROM log JOIN tables ON id = table_id WHERE name IN ({names})")
    values = [value for (value,) in rows if value is not None]
    connection.close()
    assert all(value.startswith(FORMAT) for value in values)
    return {value[2:10] for value in values}


async def test_secrets_are_in_no_file_and_come_back(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    mode = (directory / "state.key").stat().st_mode & 0o777
    record = await store.put("secrets", "s", encoded("s", PLAIN), expected=ANY, labels={"a": "b"})
    copied = as_after_a_kill(directory, tmp_path / "copy")
    assert files_with(copied, PLAIN.encode()) == []
    await store.close()
    assert mode == 0o600
    for place in (directory, copied):
        assert files_with(place, PLAIN.encode()) == []
        store = await open_store(place, clock)
        found = store.get("secrets", "s")
        assert found is not None
        assert found.value == record.value
        await store.close()


async def test_history_and_deletions_are_encrypted_too(directory: Path, clock: ManualClock) -> None:
    await filled(directory, clock)
    assert files_with(directory, PLAIN.encode()) == []
    found = await secrets_in(directory, clock)
    assert found == {
        "a": f"{PLAIN} newer",
        "events": [f"{PLAIN} {each}" for each in ("a", "b", "c", "newer", "last", "c")],
    }


async def test_every_write_has_a_nonce_of_its_own(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    for _ in range(50):
        await store.put("secrets", "s", lambda _: b"{}", expected=ANY)
    await store.close()
    connection = apsw.Connection(str(directory / "state.db"))
    values = [value for (value,) in connection.execute("SELECT value FROM log")]
    connection.close()
    assert len({value[10:22] for value in values}) == 50


def forge(directory: Path, source: int, target: int, value: bytes | None = None) -> None:
    """Put what is stored in one row, or something else, into another, with checksum and digest that fit."""
    connection = apsw.Connection(str(directory / "state.db"))
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    rows = "SELECT name, key, deleted, written_at, checksum, value FROM log JOIN tables ON id = table_id WHERE "
    stored = value or connection.execute(f"{rows} revision = ?", (source,)).fetchall()[0][5]
    name, key, deleted, written_at, before, _ = connection.execute(f"{rows} revision = ?", (target,)).fetchall()[0]
    check = checksum(facts["identity"], name, target, key, deleted, written_at, stored)
    connection.execute("UPDATE log SET value = ?, checksum = ? WHERE revision = ?", (stored, check, target))
    digest = added(facts["digest"], check, -before)
    connection.execute("UPDATE facts SET value = ? WHERE name = 'digest'", (digest,))
    connection.close()


async def test_what_is_encrypted_for_one_row_is_refused_in_every_other(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    revisions = [
        (await store.put(table, key, encoded(key, PLAIN), expected=ANY)).revision
        for table, key in (("secrets", "a"), ("secrets", "b"), ("configmaps", "a"), ("secrets", "a"))
    ]
    await store.close()
    good = (directory / "state.db").read_bytes()
    for source, target in ((0, 1), (1, 0), (0, 2), (0, 3), (3, 0)):
        forge(directory, revisions[source], revisions[target])
        with pytest.raises(CorruptData, match=rf"row {revisions[target]} .* not what was encrypted for this place"):
            await open_store(directory, clock)
        (directory / "state.db").write_bytes(good)
    forge(directory, 0, revisions[0], b'{"content": "mine"}')
    with pytest.raises(CorruptData, match="it should be encrypted"):
        await open_store(directory, clock)
    for length in (3, 9, 20, 30):
        (directory / "state.db").write_bytes(good)
        row = FORMAT + next(iter(key_ids(directory / "state.db"))) + bytes(30)
        forge(directory, 0, revisions[0], row[:length])
        with pytest.raises(DataRefused):
            await open_store(directory, clock)


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (None, "it is missing, and Secrets are encrypted"),
        (b"", "not every line is a key"),
        (b"secret\n", "not every line is a key"),
        (base64.b64encode(bytes(31)), "not every line is a key"),
        (new_key(), "it does not hold the key"),
        (new_key() + new_key(), "it does not hold the key"),
    ],
    # Keys are random: each worker would collect tests of other names.
    ids=["missing", "empty", "no base64", "too short", "another key", "two other keys"],
)
async def test_a_missing_or_wrong_key_is_refused_and_nothing_changes(
    directory: Path, tmp_path: Path, clock: ManualClock, content: bytes | None, finding: str
) -> None:
    await filled(directory, clock)
    good, path = (directory / "state.key").read_bytes(), directory / "state.key"
    backup_directory(directory, tmp_path / "backup.db")
    path.unlink()
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    before = {each.name: each.read_bytes() for each in directory.iterdir() if each.suffix in (".db", ".key", ".mark")}
    for _ in range(2):
        with pytest.raises(DataRefused, match=f"{path}: {finding}") as refused:
            await open_store(directory, clock)
        assert good.decode().strip() not in str(refused.value)
        with pytest.raises(DataRefused, match=finding):
            restore(tmp_path / "backup.db", directory, clock, force=True)
        with pytest.raises(DataRefused, match=finding):
            salvage(directory, clock)
        with pytest.raises(DataRefused, match="it is missing"):
            restore(tmp_path / "backup.db", tmp_path / "elsewhere", clock)
        assert [each.name for each in (tmp_path / "elsewhere").iterdir()] == ["state.lock"]
        after = {name: (directory / name).read_bytes() for name in before}
        assert after == before
        assert path.exists() == (content is not None)
    path.write_bytes(good)
    assert (await secrets_in(directory, clock))["a"] == f"{PLAIN} newer"


async def test_the_user_may_provide_the_key_file(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    key = tmp_path / "key"
    with pytest.raises(DataNotPermitted, match="No such file"):
        await open_store(directory, clock, key=key)
    assert not (directory / "state.key").exists()
    key.write_bytes(new_key())
    key.chmod(0o644)
    await filled(directory, clock, key)
    assert key.stat().st_mode & 0o777 == 0o600
    assert not (directory / "state.key").exists()
    assert (await secrets_in(directory, clock, key))["a"] == f"{PLAIN} newer"
    with pytest.raises(DataRefused, match=r"state\.key: it is missing.* or name the key file with --encryption-key"):
        await open_store(directory, clock)
    backup_directory(directory, tmp_path / "backup.db")
    with pytest.raises(DataRefused, match="it is missing, and Secrets are encrypted"):
        restore(tmp_path / "backup.db", tmp_path / "other", clock)
    restore(tmp_path / "backup.db", tmp_path / "other", clock, key=key)
    assert (await secrets_in(tmp_path / "other", clock, key))["a"] == f"{PLAIN} newer"


async def test_backup_restore_and_salvage_keep_secrets_encrypted(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    await filled(directory, clock)
    backup_directory(directory, tmp_path / "backup.db")
    assert PLAIN.encode() not in (tmp_path / "backup.db").read_bytes()
    (directory / "state.key").rename(tmp_path / "copy.key")
    backup_directory(directory, tmp_path / "again.db")  # without the key
    (tmp_path / "copy.key").rename(directory / "state.key")
    restore(tmp_path / "backup.db", directory, clock, force=True)
    clock.advance(1)
    salvaged = salvage(directory, clock)
    assert salvaged.complete
    assert files_with(directory, PLAIN.encode()) == []
    assert len(key_ids(directory / "state.db")) == 1
    assert (await secrets_in(directory, clock))["a"] == f"{PLAIN} newer"


async def test_a_new_first_key_encrypts_everything_anew(directory: Path, clock: ManualClock) -> None:
    await filled(directory, clock)
    path, before = directory / "state.key", await secrets_in(directory, clock)
    [old_id] = key_ids(directory / "state.db")
    old = path.read_bytes()
    path.write_bytes(new_key() + old)
    assert await secrets_in(directory, clock) == before
    [new_id] = key_ids(directory / "state.db")
    assert new_id != old_id
    assert files_with(directory, old_id) == []
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    written = (directory / "state.db").read_bytes()
    assert await secrets_in(directory, clock) == before
    assert (directory / "state.db").read_bytes() == written, "nothing is encrypted twice"


class _Killed(BaseException):
    pass


@contextmanager
def killed_at(number: int, directory: Path, copy: Path, patch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Copy the files before the n-th change that a start makes, as a kill leaves them, and end it there."""
    calls = [0]

    def count() -> None:
        calls[0] += 1
        if calls[0] == number:
            shutil.copytree(directory, copy)
            raise _Killed

    real = opening.connect

    def connect(path: Path, vfs: str | None = None) -> apsw.Connection:
        connection = real(path, vfs)

        class Traced(apsw.Connection):
            def execute(self, statement: str, *args: Any, **named: Any) -> Any:
                if statement.startswith(("UPDATE", "INSERT", "DELETE", "VACUUM", "PRAGMA user_version =")):
                    count()
                return super().execute(statement, *args, **named)

            def wal_checkpoint(self, *args: Any, **named: Any) -> Any:
                count()
                found = super().wal_checkpoint(*args, **named)
                count()
                return found

        connection.close()
        traced = Traced(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        traced.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        traced.wal_autocheckpoint(0)
        return traced

    patch.setattr(opening, "connect", connect)
    write_atomically = encryption.write_atomically
    patch.setattr(encryption, "write_atomically", lambda *given: (count(), write_atomically(*given), count()))
    try:
        yield calls
    finally:
        patch.undo()


@pytest.mark.parametrize("kind", ["migration", "rotation"])
async def test_one_that_is_interrupted_anywhere_is_finished_by_the_next_start(
    tmp_path: Path, clock: ManualClock, kind: str
) -> None:
    origin = tmp_path / "origin"
    if kind == "migration":
        old_database(origin / "state.db")
        change(origin, "INSERT INTO tables VALUES (3, 'filler')")
    else:
        await filled(origin, clock)
        (origin / "state.key").write_bytes(new_key() + (origin / "state.key").read_bytes())
    plain = b'"new"' if kind == "migration" else next(iter(key_ids(origin / "state.db")))
    assert files_with(origin, plain) == ["state.db"]
    number, expected = 0, None
    while True:
        number += 1
        place, copy = tmp_path / f"place{number}", tmp_path / f"copy{number}"
        shutil.copytree(origin, place)
        with pytest.MonkeyPatch.context() as patch, killed_at(number, place, copy, patch) as calls:
            try:
                store = await open_store(place, clock)
            except _Killed:
                pass
            else:
                assert calls[0] < number
                calls[0] = number
                await store.close()
                break
        found = await secrets_in(copy, clock)
        if kind == "migration":  # without a mark, revisions continue far above and the history ends
            found["events"] = []
        expected = expected or found
        assert found == expected
        assert files_with(copy, plain) == [], number
        assert len(key_ids(copy / "state.db")) == 1
    assert number > 8
    assert files_with(place, plain) == []


async def test_what_was_deleted_long_ago_leaves_free_pages_too(directory: Path, clock: ManualClock) -> None:
    old_database(directory / "state.db")
    change(directory, "CREATE TABLE junk (x); INSERT INTO junk VALUES ('" + PLAIN * 2000 + "'); DROP TABLE junk")
    assert files_with(directory, PLAIN.encode()) != []
    await secrets_in(directory, clock)
    assert files_with(directory, PLAIN.encode()) == []
    assert files_with(directory, b'"new"') == []


async def test_free_pages_are_cleaned_later_if_another_program_reads(
    directory: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    old_database(directory / "state.db")
    reader = apsw.Connection(str(directory / "state.db"))
    reader.execute("BEGIN; SELECT * FROM log").fetchall()
    monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 1)
    store = await open_store(directory, clock)
    assert "until the next start" in caplog.text
    await store.put("secrets", "x", encoded("x"), expected=ANY)
    reader.close()
    await store.close()
    await asyncio.sleep(0)
    await secrets_in(directory, clock)
    assert files_with(directory, b'"new"') == []


async def test_the_key_is_never_replaced_by_a_backup(directory: Path, clock: ManualClock) -> None:
    await filled(directory, clock)
    key = (directory / "state.key").read_bytes()
    with pytest.raises(DataRefused, match="this is the data itself"):
        backup_directory(directory, directory / "state.key", overwrite=True)
    assert (directory / "state.key").read_bytes() == key
    assert Files(directory).key in Files(directory).own
