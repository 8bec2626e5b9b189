"""Databases of earlier versions, brought up to date.

Schema 1 had checksums of 32 bits that knew neither the table nor the database, and no digest. Schema 2 did not encrypt.
All rows are checked and replaced in one transaction, so an interrupted migration has not happened.
"""

from __future__ import annotations

import logging
import secrets
import zlib
from pathlib import Path
from typing import Any

import apsw
import orjson

from nagaya.apiserver.storage.errors import CorruptData
from nagaya.apiserver.storage.sqlite.database import transaction
from nagaya.apiserver.storage.sqlite.failures import RESTORE, write_failure
from nagaya.apiserver.storage.sqlite.layout import (
    COMPACTED,
    DIGEST,
    IDENTITY,
    SCHEMA_VERSION,
    SCRUB,
    UNENCRYPTED,
    added,
    checksum,
    seal,
)
from nagaya.apiserver.storage.sqlite.loading import Loaded

_LOG = logging.getLogger(__name__)


def initialise(connection: apsw.Connection, compacted: int = 0, digest: int = 0, identity: int = 0) -> int:
    """Give a database its facts, and an identity if it has none. Returns the identity."""
    identity = identity or secrets.randbits(62) + 1
    facts = {COMPACTED: compacted, IDENTITY: identity, DIGEST: added(digest, seal(identity, compacted))}
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return identity


def migrate(connection: apsw.Connection, path: Path, identity: int = 0) -> bool:
    """Bring a database up to date, except that `encrypt` encrypts. Returns whether there was anything to do. Raises
    `CorruptData` if a row is damaged, and then changes nothing.
    """
    if connection.execute("PRAGMA user_version").get != 1:
        return False
    with transaction(connection):
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
        connection.execute(f"PRAGMA user_version = {UNENCRYPTED}")
    return True


def encrypt(connection: apsw.Connection, loaded: Loaded) -> bool:
    """Encrypt what is not, or not with the first key. Returns whether there was anything to do."""
    keys = loaded.keys
    assert keys is not None
    if not loaded.stale and connection.execute("PRAGMA user_version").get == SCHEMA_VERSION:
        return False
    with transaction(connection):
        digest = loaded.digest
        rows = (
            "SELECT revision, name, key, deleted, written_at, checksum, value FROM log JOIN tables ON id = table_id "
            "WHERE revision IN (SELECT value FROM json_each(?))"
        )
        stale: list[Any] = connection.execute(rows, (orjson.dumps(loaded.stale).decode(),)).fetchall()
        for revision, name, key, deleted, written_at, before, stored in stale:
            value = keys.open(keys.path, name, key, revision, stored)
            value = keys.seal(name, key, revision, value)
            check = checksum(loaded.identity, name, revision, key, deleted, written_at, value)
            connection.execute("UPDATE log SET checksum = ?, value = ? WHERE revision = ?", (check, value, revision))
            digest = added(digest, check, -before)
        connection.execute("UPDATE facts SET value = ? WHERE name = ?", (digest, DIGEST))
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, 1)", (SCRUB,))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    _LOG.info("encrypted %d rows with the first key of %s", len(loaded.stale), keys.path)
    return True


def scrub(connection: apsw.Connection, path: Path) -> None:
    """Leave nothing of what `encrypt` replaced in free pages or in the log."""
    if connection.execute("SELECT value FROM facts WHERE name = ?", (SCRUB,)).get is None:
        return
    try:
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        connection.execute("DELETE FROM facts WHERE name = ?", (SCRUB,))
    except apsw.Error as error:
        reason = write_failure(path, error).reason
        _LOG.warning("free pages may hold Secrets that are not encrypted, until the next start: %s", reason)


def old_checksum(revision: int, key: str, value: bytes | None) -> int:
    """That of schema 1."""
    return zlib.crc32(value or b"", zlib.crc32(f"{revision} {key}".encode()))


def _compacted(connection: apsw.Connection, path: Path) -> int:
    compacted = connection.execute("SELECT value FROM facts WHERE name = ?", (COMPACTED,)).get
    if not isinstance(compacted, int):
        raise CorruptData(path, f"it lacks the fact {COMPACTED}", RESTORE)
    return compacted
