"""What the files of a store are called and what is in them.

One table holds everything: a log with one row per write, its revision as the key, so that appending touches only the
end of the file. The present is the newest row of every key. There is no index: what is asked for is in memory, and
memory knows the revision of every row that compaction may remove.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

APPLICATION_ID: Final = 0x4E616779  # "Nagy", at a fixed place in the file's header
SCHEMA_VERSION: Final = 1

COMPACTED: Final = "compacted"

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
INSERT INTO facts VALUES ('compacted', 0);
"""


class Files:
    """The names of a store's files in its directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.database = directory / "state.db"
        self.log = directory / "state.db-wal"
        self.index = directory / "state.db-shm"
        self.lock = directory / "state.lock"
        self.unfinished = directory / "state.db.new"
        self.restoring = directory / "state.db.restoring"
        self.own = (self.database, self.log, self.index, self.lock, self.unfinished, self.restoring)


def checksum(revision: int, key: str, value: bytes | None) -> int:
    """Tells a row from a damaged one: SQLite itself does not notice a flipped bit inside a value."""
    return zlib.crc32(value or b"", zlib.crc32(f"{revision} {key}".encode()))
