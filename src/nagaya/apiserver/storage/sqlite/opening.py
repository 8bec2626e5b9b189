"""Deciding whether to work on a data directory, and starting to.

The order matters. Nothing is read before the lock is held, because closing a file that SQLite has open elsewhere in
this process would drop its locks; nothing is given to SQLite before the header says that the file is ours, because
opening a database may roll back its journal; nothing is served before every row has been read. Whatever is wrong
becomes a `DataRefused`, and the files stay as they are: we never repair by deleting.
"""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import apsw

from nagaya.apiserver.storage.contents import FIRST_REVISION, superseded
from nagaya.apiserver.storage.errors import (
    CorruptData,
    DataNotPermitted,
    DataRefused,
    ForeignData,
    NewerData,
)
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.sqlite.database import Database, close_as_one_file, connect, transaction
from nagaya.apiserver.storage.sqlite.encryption import has_sealed, keys_of
from nagaya.apiserver.storage.sqlite.failures import RESTORE, open_failure, reading
from nagaya.apiserver.storage.sqlite.files import close_to_others, prepare_directory
from nagaya.apiserver.storage.sqlite.layout import (
    APPLICATION_ID,
    COMPACTED,
    IDENTITY,
    OLDEST_SCHEMA,
    PAGE_SIZE,
    SCHEMA,
    SCHEMA_VERSION,
    Files,
    unseen,
)
from nagaya.apiserver.storage.sqlite.loading import Loaded
from nagaya.apiserver.storage.sqlite.lock import DataLock
from nagaya.apiserver.storage.sqlite.mark import Mark, Marked, read_mark
from nagaya.apiserver.storage.sqlite.migration import initialise, load_current, new_identity
from nagaya.apiserver.storage.sqlite.wal import Finding, examine
from nagaya.pki.files import PRIVATE, synchronise
from nagaya.world import Clock

_MAGIC = b"SQLite format 3\x00"
_LOG = logging.getLogger(__name__)
_BEHIND = timedelta(days=1)
_AHEAD = timedelta(days=60)  # a plane may have been off for some time


@dataclass(slots=True)
class OpenData:
    """A data directory that is ours until it is released."""

    lock: DataLock
    database: Database
    loaded: Loaded


def open_data(
    directory: Path, clock: Clock, retention: Retention, *, check: bool, vfs: str | None, key: Path | None = None
) -> OpenData:
    """Lock, verify and load a directory, making it first if need be. Raises `DataRefused`.

    Every start reads and checks every row. The structure of the file is checked as well (SQLite's quick_check) if the
    last process did not end properly, which a leftover write-ahead log shows, or if `check` asks for it.
    """
    files = Files(directory, key)
    prepare_directory(directory)
    lock = DataLock(files.lock)
    try:
        if exists := files.database.exists():
            check_header(files.database)
        for path in files.own:
            close_to_others(path)
        mark = read_mark(files.mark)
        if not exists:
            _create(files, mark, vfs)
        database, loaded = _connect_and_load(files, mark, clock, retention, check=check, vfs=vfs)
    except BaseException:
        lock.release()
        raise
    return OpenData(lock, database, loaded)


def check_header(path: Path, *, writable: bool = True) -> None:
    """Look at the first bytes of a file, without SQLite, to see whether it is ours and whether we know its version."""
    try:
        with path.open("r+b" if writable else "rb") as file:
            header = file.read(100)
    except OSError as error:
        remedy = "Give the file to the user of this process (chown, and chmod 600)"
        finding = f"cannot be read{' and written' if writable else ''} ({error.strerror})"
        raise DataNotPermitted(path, finding, remedy) from error
    if len(header) < 100:
        raise CorruptData(path, f"it is only {len(header)} bytes long, too short for a database", RESTORE)
    if not header.startswith(_MAGIC):
        raise ForeignData(path, "this is not a SQLite database, or its beginning is overwritten", RESTORE)
    application = int.from_bytes(header[68:72], "big")
    if application != APPLICATION_ID:
        finding = f"this database belongs to another program (application id {application:#x})"
        raise ForeignData(path, finding, "Choose another data directory, or move the file away")
    _check_version(path, int.from_bytes(header[60:64], "big"))


def create_database(path: Path, vfs: str | None = None, identity: int = 0) -> None:
    """Make an empty database."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
    connection = connect(path, vfs)
    try:
        pragmas = f"PRAGMA page_size = {PAGE_SIZE}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL"
        connection.execute(pragmas)
        with transaction(connection):
            connection.execute(SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            initialise(connection, identity or new_identity())
        close_as_one_file(connection)
    finally:
        connection.close()


def _create(files: Files, mark: Marked | None, vfs: str | None) -> None:
    """Make the database under another name first, so that a file of the real name is always complete."""
    if files.restoring.exists():
        raise DataRefused(
            files.restoring,
            "a restore was interrupted",
            "Run `nagaya restore` again, with the same backup or --salvage",
        )
    if files.log.exists():
        remedy = "Put state.db back; if its loss is final, move the log away to start empty, or restore a backup"
        raise CorruptData(files.log, "the write-ahead log is there but state.db, to which it belongs, is not", remedy)
    if mark is not None and mark.acknowledged > FIRST_REVISION:
        finding = f"it is missing, and held everything that was acknowledged up to revision {mark.acknowledged}"
        remedy = "Put it back, or restore a backup; if its loss is final, move state.mark away to start empty"
        raise CorruptData(files.database, finding, remedy)
    for leftover in files.directory.glob(f"{files.unfinished.name}*"):
        leftover.unlink()  # from a start that was interrupted before the database was ever used
    try:
        create_database(files.unfinished, vfs, 0 if mark is None else mark.identity)
        files.unfinished.rename(files.database)
        synchronise(files.directory)
    except apsw.Error as error:
        raise open_failure(files.database, error) from error
    except OSError as error:
        remedy = "Check the file system and the permissions of the directory"
        raise DataNotPermitted(files.database, f"cannot be created ({error.strerror})", remedy) from error


def has_leftover_log(files: Files) -> bool:
    try:
        return files.log.stat().st_size > 0
    except FileNotFoundError:
        return False


def _connect_and_load(
    files: Files, mark: Marked | None, clock: Clock, retention: Retention, *, check: bool, vfs: str | None
) -> tuple[Database, Loaded]:
    path = files.database
    unclean = has_leftover_log(files)
    finding = examine(files.log)
    try:
        connection = connect(path, vfs)
        try:
            with reading(path):
                _check_ending(connection, files, mark, finding)
                check_database(connection, path, thorough=check or unclean)
                had_mark = mark is not None or connection.execute("PRAGMA user_version").get > OLDEST_SCHEMA
                keys = keys_of(files, partial(has_sealed, connection))
                identity = 0 if mark is None else mark.identity
                loaded = load_current(connection, path, retention, clock, keys, identity)
            _check_clock(path, loaded.written_at, clock)
            revision = loaded.contents.revision
            if had_mark:
                revision = _next_revision(files, revision, mark, unclean, clock)
            database = Database(connection, path, loaded, vfs)
            _begin(database, files, loaded, revision, mark)
            return database, loaded
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise open_failure(path, error) from error
    except OSError as error:
        raise open_failure(files.mark, error) from error


def _check_clock(path: Path, written_at: int, clock: Clock) -> None:
    """Say if the clock has jumped since the newest write: certificates, tokens and leases go by it."""
    now, newest = clock.now(), datetime.fromtimestamp(written_at, UTC)
    if written_at and not newest - _BEHIND < now < newest + _AHEAD:
        _LOG.warning(
            "%s: the clock of this machine (%s) is %d days %s the newest write (%s). If it is wrong, set it "
            "(`timedatectl set-ntp true`) and start again",
            *(path, f"{now:%Y-%m-%d %H:%M} UTC", round(abs(now - newest) / timedelta(days=1))),
            *("behind" if now < newest else "ahead of", f"{newest:%Y-%m-%d %H:%M} UTC"),
        )


def _check_ending(connection: apsw.Connection, files: Files, mark: Marked | None, finding: Finding | None) -> None:
    """Refuse data whose end is missing: what SQLite would show is older than what was acknowledged."""
    revision: int | None = None
    try:
        facts: dict[str, int] = dict(connection.execute("SELECT name, value FROM facts"))
        newest = connection.execute("SELECT ifnull(max(revision), 0) FROM log").get
        revision = max(FIRST_REVISION, facts.get(COMPACTED, 0), newest)
    except apsw.Error:
        if finding is None:
            raise
        facts = {}
    if mark is not None and facts.get(IDENTITY, mark.identity) != mark.identity:
        other = f"it is not the database that was here, which held everything up to revision {mark.acknowledged}"
        remedy = (
            "Nothing was changed. Put that one back, or bring this one in with `nagaya restore`; if only the log is "
            "another's, `nagaya restore --salvage` keeps what is intact"
        )
        raise CorruptData(files.database, other, remedy)
    lost = ""
    if mark is not None and revision is not None and revision < mark.acknowledged:
        lost = f"revisions {revision + 1} to {mark.acknowledged} were acknowledged and are missing"
    if finding is not None:
        trusted = mark is not None and mark.exact
        if lost or finding.proven or not (finding.frame or trusted):
            raise CorruptData(files.log, f"{finding}{lost and ': '}{lost}", RESTORE)
    elif lost:
        missing = "the write-ahead log is cut off" if has_leftover_log(files) else "there is no write-ahead log"
        raise CorruptData(files.database, f"{lost}: {missing}, or this is an older copy", RESTORE)


def _next_revision(files: Files, revision: int, mark: Marked | None, unclean: bool, clock: Clock) -> int:
    """The revision after which to continue: the newest, or where nobody can have been before if that is not sure."""
    if mark is None or mark.reserved < revision:
        if mark is None and revision == FIRST_REVISION:
            return revision
        finding = "missing or damaged" if mark is None else "older than the database"
        revision = unseen(revision, clock)
        _LOG.warning("%s is %s: revisions continue above %d, and clients list again", files.mark, finding, revision)
        return revision
    if unclean and not mark.exact:
        _LOG.info("%s: after a power cut, revisions continue above %d", files.database, mark.reserved)
        return mark.reserved
    return revision


def _begin(database: Database, files: Files, loaded: Loaded, revision: int, mark: Marked | None) -> None:
    """Make everything ready for the first write, after a revision."""
    contents = loaded.contents
    if revision > contents.revision:
        contents.revision = revision
        while contents.history.compacted < revision:
            loaded.garbage.extend(superseded(contents.compact(revision, len(contents.history.log.events))))
        database.commit((), 0, revision, ())
    database.mark = Mark(files.mark, loaded.identity, revision, 0 if mark is None else mark.reserved)
    if has_leftover_log(files):
        with contextlib.suppress(apsw.Error):  # what a kill left at its end must not get between what comes
            database.empty_log()


def check_database(connection: apsw.Connection, path: Path, *, thorough: bool) -> None:
    """See whether an open database is intact: its version (the log may hold a newer one than the header), and its
    structure.
    """
    _check_version(path, connection.execute("PRAGMA user_version").get)
    if thorough:
        finding = connection.execute("PRAGMA quick_check(1)").get
        if finding != "ok":
            raise CorruptData(path, f"the database is damaged ({str(finding).strip()})", RESTORE)
    found = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if missing := {"log", "tables", "facts"} - found:
        raise CorruptData(path, f"it lacks the table {', '.join(sorted(missing))}", RESTORE)


def _check_version(path: Path, version: int) -> None:
    if version > SCHEMA_VERSION:
        finding = f"it was written by a newer version of Nagaya (schema {version}; this one knows {SCHEMA_VERSION})"
        raise NewerData(path, finding, "Start the newer version, or restore a backup made by this one")
    if version < OLDEST_SCHEMA:
        raise CorruptData(path, f"it has no known schema version ({version})", RESTORE)
