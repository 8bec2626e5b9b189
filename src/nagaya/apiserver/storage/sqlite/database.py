"""The one connection that writes.

Everything it does is a transaction that is on the disk when the call returns (write-ahead log, synchronous=FULL), or
an exception that left nothing behind. It also does all checkpoints, when its owner finds the time.

A transaction that failed may be complete in the log and yet not on the disk, and what it left beyond the end of the
log would look like damage one day. So before anything else is written the log is cut where it was acknowledged last,
and after an error of the disk the connection is opened anew and compared with what was acknowledged.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import apsw
import orjson

from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.sqlite.layout import COMPACTED, DIGEST, added, checksum, seal
from nagaya.apiserver.storage.sqlite.loading import Loaded
from nagaya.apiserver.storage.sqlite.mark import Mark
from nagaya.apiserver.storage.sqlite.wal import FRAME_BYTES, HEADER_BYTES

_LOG = logging.getLogger(__name__)
_PRAGMAS = """
PRAGMA synchronous = FULL;
PRAGMA journal_size_limit = 67108864; -- a log that grew beyond 64 MiB shrinks again after its checkpoint
PRAGMA cell_size_check = ON;
PRAGMA trusted_schema = OFF;
PRAGMA temp_store = MEMORY;
"""
_ROWS_AT_ONCE = 32  # each statement has to wait for the interpreter's lock, and each number of rows is one to keep
_REMOVE = "DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?)) RETURNING checksum"
_BUSY_MILLISECONDS = 5000
_CHECKPOINT_PAGES = 2000  # of the log, when there is nothing else to do
_CHECKPOINT_OVERDUE = 4000  # of the log, whatever there is to do
_VACUUM_PAGES = 256  # at once
_VACUUM_ABOVE = 1024  # free pages, if they are also a quarter of the file

Row = tuple[int, int, str, int, int, int, bytes | None]


def connect(path: Path, vfs: str | None = None) -> apsw.Connection:
    """Open an existing database for writing. Closing it changes nothing on disk, unless `Database` does it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.wal_autocheckpoint(0)
        connection.execute(_PRAGMAS)
    except BaseException:
        connection.close()
        raise
    return connection


def close_as_one_file(connection: apsw.Connection) -> None:
    """Move the whole log into the database and remove it. Raises what prevents that: closing alone does not."""
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    finally:
        connection.close()


@contextlib.contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """All or nothing. The error that ends it is the one that is raised, also if SQLite has already rolled back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with contextlib.suppress(apsw.Error):  # a failing disk may not even let it be undone
                connection.execute("ROLLBACK")
        raise


class Database:
    """A log of events on disk. Not for two threads at once."""

    def __init__(self, connection: apsw.Connection, path: Path, loaded: Loaded, vfs: str | None = None) -> None:
        self.path = path
        self.mark: Mark | None = None
        self._connection = connection
        self._vfs = vfs
        self._suspect = False  # after a transaction that failed
        self._untrusted = False  # after one that failed by an error of the disk
        self._frames: int | None = None  # of the log, that were acknowledged when it failed
        self._table_ids = dict(loaded.table_ids)
        self._next_table_id = max(self._table_ids.values(), default=0) + 1
        assert loaded.keys is not None, "nothing is written without the keys"
        self._keys = loaded.keys
        self._identity = loaded.identity
        self._compacted = loaded.contents.history.compacted
        self._digest = loaded.digest
        self._pages_at_checkpoint = self._pages_written()
        self._vacuum = False

    def commit(self, events: Sequence[Event], written_at: int, compacted: int | None, garbage: Sequence[int]) -> None:
        """Add events and remove garbage, all or nothing."""
        new_tables: dict[str, int] = {}
        rows = [self._row(event, written_at, new_tables) for event in events]
        digest = added(self._digest, *(row[5] for row in rows))
        facts = {}
        if self.mark is not None and events:
            self.mark.reserve(events[-1].revision)
        with self._transaction() as connection:
            for name, number in new_tables.items():
                connection.execute("INSERT INTO tables VALUES (?, ?)", (number, name))
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                some = rows[start : start + _ROWS_AT_ONCE]
                places = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(some))
                statement = f"INSERT INTO log VALUES {places}"  # noqa: S608 - nothing but question marks
                connection.execute(statement, [*chain.from_iterable(some)])
            if compacted is not None:
                facts[COMPACTED] = compacted
                digest = added(digest, seal(self._identity, compacted), -seal(self._identity, self._compacted))
            if garbage:
                revisions = orjson.dumps(garbage).decode()
                removed = connection.execute(_REMOVE, (revisions,))
                digest = added(digest, *(-check for (check,) in removed))
            facts[DIGEST] = digest
            connection.executemany("UPDATE facts SET value = ? WHERE name = ?", [(facts[n], n) for n in facts])
        self._digest = digest
        self._compacted = self._compacted if compacted is None else compacted
        self._table_ids.update(new_tables)
        self._next_table_id += len(new_tables)
        self._vacuum = self._vacuum or bool(garbage)
        if self.mark is not None and events:
            try:
                self.mark.acknowledge(events[-1].revision)
            except OSError as error:
                _LOG.warning("%s: the mark stays behind: %s", self.path, error.strerror)

    @property
    def has_chores(self) -> bool:
        """Whether `do_chore` would do something."""
        return not self._suspect and (self._vacuum or self._log_pages() >= _CHECKPOINT_PAGES)

    @property
    def chore_overdue(self) -> bool:
        """Whether `do_chore` should come before the next write."""
        return not self._suspect and self._log_pages() >= _CHECKPOINT_OVERDUE

    def do_chore(self) -> None:
        """Move the log into the database, or give some free pages back to the file system: a few milliseconds of
        work.
        """
        if self._log_pages() >= _CHECKPOINT_PAGES:
            # Before it can fail: the next attempt is made when as much has been written again.
            self._pages_at_checkpoint = self._pages_written()
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            return
        free = self._number("PRAGMA freelist_count")
        self._vacuum = free > max(_VACUUM_ABOVE, self._number("PRAGMA page_count") // 4)
        if self._vacuum:
            with self._transaction() as connection:
                connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()

    @property
    def settled(self) -> bool:
        """Whether the mark is on the disk as it is."""
        return self.mark is None or self.mark.settled

    def settle(self) -> None:
        """Wait until it is. Raises OSError."""
        if self.mark is not None:
            self.mark.settle()

    def close(self) -> None:
        """Leave a single file behind. If the disk does not allow that, raises an apsw error and leaves the file and its
        log, which the next start reads together.
        """
        try:
            if self._suspect:
                self._recover()
            close_as_one_file(self._connection)
            self.settle()
        finally:
            self.abandon()

    def empty_log(self) -> None:
        """Move the whole log into the database, and start it over."""
        self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def abandon(self) -> None:
        """Let go without changing a byte."""
        self._connection.close()
        if self.mark is not None:
            self.mark.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        """All or nothing, and on the disk at the end."""
        if self._suspect:
            self._recover()
        connection = self._connection
        try:
            with transaction(connection):
                self._suspect = True
                yield connection
        except BaseException as error:
            limit = connection.system_errno in (errno.EDQUOT, errno.EFBIG) and isinstance(error, apsw.IOError)
            self._untrusted = self._suspect and (not isinstance(error, apsw.FullError) or connection.in_transaction)
            if limit:  # SQLite knows only one errno of a disk that is full
                raise apsw.FullError(str(error)) from error
            raise
        self._suspect = False

    def _recover(self) -> None:
        """After a transaction that failed: make sure that exactly what was acknowledged is there. Raises what it
        meets; then nothing can be written.
        """
        if self._frames is None:
            self._frames = max(0, self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0])
        with contextlib.suppress(FileNotFoundError), Path(f"{self.path}-wal").open("r+b") as log:
            end = HEADER_BYTES + self._frames * FRAME_BYTES if self._frames else 0
            log.truncate(min(end, os.fstat(log.fileno()).st_size))
            os.fsync(log.fileno())
        if self._untrusted:
            self._connection.close()
            self._connection = connect(self.path, self._vfs)
            self._pages_at_checkpoint = self._pages_written()
        if self._number("SELECT value FROM facts WHERE name = 'digest'") != self._digest:
            raise apsw.CorruptError("what was acknowledged last is not there any more")
        self._suspect = self._untrusted = False
        self._frames = None

    def _row(self, event: Event, written_at: int, new_tables: dict[str, int]) -> Row:
        number = self._table_ids.get(event.table) or new_tables.get(event.table)
        if number is None:
            number = new_tables[event.table] = self._next_table_id + len(new_tables)
        revision, key, deleted = event.revision, event.key, event.record is None
        value: bytes | None = event.result.value
        if deleted and event.previous is not None and value is event.previous.value:
            value = None
        value = self._keys.seal(event.table, key, revision, value)
        check = checksum(self._identity, event.table, revision, key, deleted, written_at, value)
        return revision, number, key, deleted, written_at, check, value

    def _log_pages(self) -> int:
        return self._pages_written() - self._pages_at_checkpoint

    def _pages_written(self) -> int:
        """SQLite's own count. A hook would tell more exactly, but would call Python in the middle of every commit."""
        return self._connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]

    def _number(self, query: str) -> int:
        number = self._connection.execute(query).get
        assert isinstance(number, int)
        return number
