"""Databases of earlier versions, brought up to date.

Schema 1 had checksums of 32 bits that knew neither the table nor the database, and no digest. All of it is checked and
replaced in one transaction, so an interrupted migration has not happened.
"""

from __future__ import annotations

import secrets
import zlib
from pathlib import Path

import apsw

from nagaya.apiserver.storage.errors import CorruptData
from nagaya.apiserver.storage.sqlite.failures import RESTORE
from nagaya.apiserver.storage.sqlite.layout import (
    COMPACTED,
    DIGEST,
    IDENTITY,
    SCHEMA_VERSION,
    added,
    checksum,
    seal,
)


def initialise(connection: apsw.Connection, compacted: int = 0, digest: int = 0, identity: int = 0) -> int:
    """Give a database its facts, and an identity if it has none. Returns the identity."""
    identity = identity or secrets.randbits(62) + 1
    facts = {COMPACTED: compacted, IDENTITY: identity, DIGEST: added(digest, seal(identity, compacted))}
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return identity


def migrate(connection: apsw.Connection, path: Path, identity: int = 0) -> bool:
    """Bring a database up to date. Returns whether there was anything to do. Raises `CorruptData` if a row is damaged,
    and then changes nothing.
    """
    if connection.execute("PRAGMA user_version").get != 1:
        return False
    with connection:
        identity = initialise(connection, _compacted(connection, path), identity=identity)
        digest = 0
        names: dict[int, str] = dict(connection.execute("SELECT id, name FROM tables"))
        updates: list[tuple[int, int]] = []
        rows = "SELECT revision, table_id, key, deleted, written_at, checksum, value FROM log"
        for revision, number, key, deleted, written_at, check, value in connection.execute(rows):
            if number not in names or check != old_checksum(revision, key, value):
                raise CorruptData(path, f"row {revision} ({names.get(number)} {key!r}) is damaged", RESTORE)
            check = checksum(identity, names[number], revision, key, deleted, written_at, value)
            digest = added(digest, check)
            updates.append((check, revision))
        connection.executemany("UPDATE log SET checksum = ? WHERE revision = ?", updates)
        initialise(connection, _compacted(connection, path), digest, identity)
    return True


def old_checksum(revision: int, key: str, value: bytes | None) -> int:
    """That of schema 1."""
    return zlib.crc32(value or b"", zlib.crc32(f"{revision} {key}".encode()))


def _compacted(connection: apsw.Connection, path: Path) -> int:
    compacted = connection.execute("SELECT value FROM facts WHERE name = ?", (COMPACTED,)).get
    if not isinstance(compacted, int):
        raise CorruptData(path, f"it lacks the fact {COMPACTED}", RESTORE)
    return compacted
