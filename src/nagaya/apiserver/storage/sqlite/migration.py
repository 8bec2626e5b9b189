"""Databases of earlier versions, brought up to date.

Schema 1 had checksums of 32 bits that knew neither the table nor the database, no digest, and no encryption. All rows
are checked first and replaced in one transaction, so an interrupted migration has not happened. A new first key of the
key file is a migration too, of the rows that another key wrote.
"""

from __future__ import annotations

import logging
import secrets
from pathlib import Path

import apsw

from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.sqlite.database import transaction
from nagaya.apiserver.storage.sqlite.encryption import Keys
from nagaya.apiserver.storage.sqlite.failures import write_failure
from nagaya.apiserver.storage.sqlite.layout import (
    COMPACTED,
    DIGEST,
    IDENTITY,
    SCHEMA_VERSION,
    SCRUB,
    added,
    checksum,
    seal,
)
from nagaya.apiserver.storage.sqlite.loading import Loaded, load
from nagaya.world import Clock

_LOG = logging.getLogger(__name__)


def new_identity() -> int:
    """What tells a database from others."""
    return secrets.randbits(62) + 1


def initialise(connection: apsw.Connection, identity: int, compacted: int = 0, digest: int = 0) -> None:
    """Give a database its facts. The digest is that of its rows."""
    facts = {COMPACTED: compacted, IDENTITY: identity, DIGEST: added(digest, seal(identity, compacted))}
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def load_current(
    connection: apsw.Connection, path: Path, retention: Retention, clock: Clock, keys: Keys, identity: int = 0
) -> Loaded:
    """Read everything, after what an earlier schema or another key wrote has been replaced. Raises `DataRefused`, and
    then has changed nothing.
    """
    loaded = load(connection, path, retention, clock, keys)
    if loaded.stale or connection.execute("PRAGMA user_version").get != SCHEMA_VERSION:
        with transaction(connection):
            _replace(connection, loaded, keys, identity)
        _LOG.info(
            "%s: wrote %d rows anew, and encrypted Secrets with the first key of %s", path, len(loaded.stale), keys.path
        )
        loaded = load(connection, path, retention, clock, keys)
    _scrub(connection, path)
    return loaded


def _replace(connection: apsw.Connection, loaded: Loaded, keys: Keys, identity: int) -> None:
    compacted = loaded.contents.history.compacted
    identity = loaded.identity or identity or new_identity()
    digest = added(loaded.digest, -seal(identity, compacted)) if loaded.identity else 0
    row = (
        "SELECT name, key, deleted, written_at, checksum, value "
        "FROM log JOIN tables ON table_id = id WHERE revision = ?"
    )
    for revision in loaded.stale:
        [(name, key, deleted, written_at, before, stored)] = connection.execute(row, (revision,))
        value = keys.seal(name, key, revision, keys.open(keys.path, name, key, revision, stored))
        check = checksum(identity, name, revision, key, deleted, written_at, value)
        connection.execute("UPDATE log SET checksum = ?, value = ? WHERE revision = ?", (check, value, revision))
        digest = added(digest, check, -before if loaded.identity else 0)
    initialise(connection, identity, compacted, digest)
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, 1)", (SCRUB,))


def _scrub(connection: apsw.Connection, path: Path) -> None:
    """Leave nothing of what was replaced in free pages or in the log."""
    if connection.execute("SELECT value FROM facts WHERE name = ?", (SCRUB,)).get is None:
        return
    try:
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        connection.execute("DELETE FROM facts WHERE name = ?", (SCRUB,))
    except apsw.Error as error:
        reason = write_failure(path, error).reason
        _LOG.warning("free pages may hold Secrets that are not encrypted, until the next start: %s", reason)
