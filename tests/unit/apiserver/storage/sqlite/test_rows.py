"""Rows that are intact by themselves and still not what was written: in another place, missing, or there again."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import apsw
import pytest

from nagaya.apiserver.storage import ABSENT, ANY, CorruptData, Store, backup_directory, open_store, restore
from nagaya.apiserver.storage.sqlite.layout import APPLICATION_ID
from unit.apiserver.storage.storage_world import ManualClock, encoded

OLD_SCHEMA = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  table_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  deleted INTEGER NOT NULL,
  written_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  value BLOB
) STRICT;
CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO facts VALUES ('compacted', 4);
INSERT INTO tables VALUES (1, 'secrets'), (2, 'configmaps');
"""


async def put(store: Store, table: str, key: str, content: object = None) -> int:
    return (await store.put(table, key, encoded(key, content), expected=ANY)).revision


async def filled(directory: Path, clock: ManualClock) -> None:
    store = await open_store(directory, clock)
    for number in range(6):
        await put(store, "secrets", f"s{number}", "secret")
        await put(store, "configmaps", f"c{number}", "public")
    await put(store, "secrets", "s0", "changed")
    await store.delete("configmaps", "c0")
    await store.close()


def change(directory: Path, statement: str) -> None:
    connection = apsw.Connection(str(directory / "state.db"))
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("UPDATE log SET table_id = 2 WHERE revision = 2", id="a Secret among the ConfigMaps"),
        pytest.param("UPDATE tables SET id = -id; UPDATE tables SET id = 3 + id", id="two tables exchanged"),
        pytest.param("UPDATE tables SET name = 'pods' WHERE id = 1", id="a table of another name"),
        pytest.param("UPDATE log SET key = 's5' WHERE revision = 2", id="under another key"),
        pytest.param("UPDATE log SET revision = 100 WHERE revision = 2", id="at another revision"),
        pytest.param("UPDATE log SET written_at = written_at + 1 WHERE revision = 2", id="at another time"),
        pytest.param("UPDATE log SET deleted = 1, value = NULL WHERE revision = 2", id="deleted"),
        pytest.param("UPDATE log SET value = x'' WHERE deleted", id="empty instead of nothing"),
        pytest.param(
            "CREATE TEMP TABLE x AS SELECT * FROM log WHERE revision IN (2, 4);"
            "UPDATE log SET (key, checksum, value) = (SELECT key, checksum, value FROM x WHERE x.revision = 6 -"
            " log.revision) WHERE revision IN (2, 4)",
            id="two rows exchanged with their checksums",
        ),
        pytest.param("DELETE FROM log WHERE revision = 5", id="a row in the middle is missing"),
        pytest.param("DELETE FROM log WHERE revision = (SELECT max(revision) FROM log)", id="the last row is missing"),
        pytest.param("DELETE FROM log", id="all rows are missing"),
        pytest.param("UPDATE facts SET value = 5 WHERE name = 'compacted'", id="history is said to be compacted"),
        pytest.param("UPDATE facts SET value = value + 1 WHERE name = 'identity'", id="another identity"),
        pytest.param("UPDATE facts SET value = value + 1 WHERE name = 'digest'", id="another digest"),
        pytest.param("DELETE FROM facts WHERE name = 'digest'", id="no digest"),
        pytest.param("UPDATE log SET key = CAST(x'74e3' AS TEXT) WHERE revision = 3", id="a key that is no text"),
        pytest.param(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), 'NOT"
            " NULL', ''); PRAGMA writable_schema = RESET; UPDATE log SET key = NULL, checksum = 'x' WHERE revision = 3",
            id="no key",
        ),
        pytest.param("UPDATE tables SET name = CAST(x'ff' AS TEXT) WHERE id = 1", id="a table that is no text"),
        pytest.param("UPDATE facts SET name = CAST(x'ff' AS TEXT) WHERE name = 'digest'", id="a fact that is no text"),
    ],
)
async def test_rows_that_are_not_where_they_were_written_are_refused(
    directory: Path, tmp_path: Path, clock: ManualClock, statement: str
) -> None:
    await filled(directory, clock)
    change(directory, statement)
    with pytest.raises(CorruptData):
        await open_store(directory, clock)
    (tmp_path / "other").mkdir(mode=0o700)
    shutil.copy(directory / "state.key", tmp_path / "other")
    with pytest.raises(CorruptData, match="This backup cannot be used"):
        restore(directory / "state.db", tmp_path / "other", clock)


async def test_a_row_of_another_database_is_refused(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    await filled(directory, clock)
    await filled(tmp_path / "other", clock)
    columns = "table_id, key, deleted, written_at, checksum, value"
    change(
        directory,
        f"ATTACH '{tmp_path / 'other' / 'state.db'}' AS other;"
        f"UPDATE log SET ({columns}) = (SELECT {columns} FROM other.log o WHERE o.revision = log.revision)"
        " WHERE revision = 3",
    )
    with pytest.raises(CorruptData, match=r"row 3 .* is damaged"):
        await open_store(directory, clock)


async def test_rows_that_compaction_removed_are_refused_when_they_are_there_again(
    directory: Path, tmp_path: Path, clock: ManualClock
) -> None:
    await filled(directory, clock)
    backup_directory(directory, tmp_path / "before.db")
    store = await open_store(directory, clock)
    store.compact(store.revision)
    await store.close()
    await (await open_store(directory, clock)).close()
    change(directory, f"ATTACH '{tmp_path / 'before.db'}' AS old; INSERT OR IGNORE INTO main.log SELECT * FROM old.log")
    with pytest.raises(CorruptData, match="removed ones are there again"):
        await open_store(directory, clock)


def old_database(path: Path) -> None:
    """A database as schema 1 had it: two objects, a changed one, a deleted one."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
    connection.execute(OLD_SCHEMA)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1")
    big = "x" * 20_000
    for revision, table, key, content in (
        (2, 1, "s", "old"),
        (3, 2, "c", big),
        (4, 1, "gone", "g"),
        (5, 1, "s", "new"),
        (6, 1, "gone", None),
    ):
        value = None if content is None else encoded(key, content)(revision)
        check = zlib.crc32(value or b"", zlib.crc32(f"{revision} {key}".encode()))
        row = (revision, table, key, content is None, 1_700_000_000, check, value)
        connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.close()
    path.with_name("state.db-wal").unlink(missing_ok=True)


async def test_data_of_the_first_schema_is_brought_up_to_date(directory: Path, clock: ManualClock) -> None:
    old_database(directory / "state.db")
    for _ in range(2):
        store = await open_store(directory, clock)
        assert store.revision == 6
        secret, public = store.get("secrets", "s"), store.get("configmaps", "c")
        assert secret is not None
        assert public is not None
        assert (secret.revision, secret.object()["content"]) == (5, "new")
        assert (public.revision, len(public.object()["content"])) == (3, 20_000)
        assert store.get("secrets", "gone") is None
        assert [event.revision for event in store.watch(None, 4).poll()] == [5, 6]
        await store.close()
    connection = apsw.Connection(str(directory / "state.db"))
    assert connection.execute("PRAGMA user_version").get == 3
    connection.close()
    change(directory, "UPDATE log SET table_id = 3 - table_id WHERE revision = 5")
    with pytest.raises(CorruptData):
        await open_store(directory, clock)


async def test_a_backup_of_the_first_schema_is_restored(directory: Path, tmp_path: Path, clock: ManualClock) -> None:
    old_database(tmp_path / "old" / "state.db")
    backup_directory(tmp_path / "old", tmp_path / "backup.db")
    for source in (tmp_path / "backup.db", tmp_path / "old" / "state.db"):
        assert restore(source, directory, clock, force=True).objects == 2
        clock.advance(1)
    store = await open_store(directory, clock)
    assert store.revision > 6
    assert store.count("secrets") == 1
    await store.put("secrets", "new", encoded("new"), expected=ABSENT)
    await store.close()
    store = await open_store(directory, clock)
    assert store.count("secrets") == 2
    await store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET value = x'00' WHERE revision = 3",
        "UPDATE log SET table_id = 9 WHERE revision = 3",
        "DELETE FROM facts",
    ],
)
async def test_damaged_data_of_the_first_schema_is_refused_and_stays_as_it_is(
    directory: Path, clock: ManualClock, statement: str
) -> None:
    old_database(directory / "state.db")
    change(directory, statement)
    before = (directory / "state.db").read_bytes()
    with pytest.raises(CorruptData):
        await open_store(directory, clock)
    assert (directory / "state.db").read_bytes() == before
