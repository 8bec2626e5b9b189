"""What the files of a store are called and what is in them.

One table holds everything: a log with one row per write, its revision as the key, so that appending touches only the
end of the file. The present is the newest row of every key. There is no index: what is asked for is in memory, and
memory knows the revision of every row that compaction may remove.

Every row carries a checksum of all it says, including the name of its table and the identity of the database, so a row
that was changed, moved or brought from another database is noticed. The fact `digest` is the sum of all these checksums
and of the facts: rows that are missing, or there again, are noticed too.
"""

from __future__ import annotations

import zlib
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Final

from nagaya.pki.certificates import PAST
from nagaya.world import Clock

APPLICATION_ID: Final = 0x4E616779  # "Nagy", at a fixed place in the file's header
SCHEMA_VERSION: Final = 3
OLDEST_SCHEMA: Final = 1  # that is still read, and brought up to date

PAGE_SIZE: Final = 4096
COMPACTED: Final = "compacted"
IDENTITY: Final = "identity"
DIGEST: Final = "digest"
SCRUB: Final = "scrub"  # while plain text or an earlier key's may be left in free pages and the log
REVISION_STEP: Final = (
    1_000_000_000  # more than a server writes between a backup and its restore; etcd advises the same
)

SCHEMA: Final = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  table_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  deleted INTEGER NOT NULL,
  written_at INTEGER NOT NULL, -- seconds since 1970: history is kept for a time, across restarts too
  checksum INTEGER NOT NULL,
  value BLOB -- NULL for a deletion that adds nothing to what it deleted
) STRICT;
CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""


class Files:
    """The names of a store's files in its directory."""

    def __init__(self, directory: Path, key: Path | None = None) -> None:
        self.directory = directory
        self.database = directory / "state.db"
        self.log = directory / "state.db-wal"
        self.index = directory / "state.db-shm"
        self.lock = directory / "state.lock"
        self.mark = directory / "state.mark"
        self.unfinished = directory / "state.db.new"
        self.restoring = directory / "state.db.restoring"
        self.makes_key = key is None
        self.key = key or directory / "state.key"
        self.own = (
            *(self.database, self.log, self.index, self.lock, self.mark, self.unfinished, self.restoring),
            directory / "state.key",
        )


def unseen(revision: int, clock: Clock) -> int:
    """A revision that no client has seen, if it is not sure that this one is the newest: far beyond it, and beyond what
    the same data was continued at before, as no server makes a write in every microsecond.
    """
    return max(revision + REVISION_STEP, (clock.now() - PAST) // timedelta(microseconds=1))


def checksum(
    identity: int, table: str, revision: int, key: str, deleted: int, written_at: int, value: bytes | None
) -> int:
    """Tells a row from a damaged one: SQLite itself does not notice a flipped bit inside a value. Databases of schema 1
    have no identity, and checksums that cover neither the table nor the database.
    """
    if not identity:
        return zlib.crc32(value or b"", zlib.crc32(f"{revision} {key}".encode()))
    head = f"{identity} {revision} {deleted:d} {written_at} {len(table)} {len(key)} {value is None:d} {table}{key}"
    return _number(head.encode() + (value or b""))


def seal(identity: int, compacted: int) -> int:
    """What the facts add to the digest."""
    return _number(f"{identity} {compacted}".encode())


def added(digest: int, *terms: int) -> int:
    """A sum that stays within SQLite's integers."""
    return (digest + sum(terms) + 2**63) % 2**64 - 2**63


def _number(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)
