"""Deciding whether to work on a data directory, and starting to.

The order matters. Nothing is read before the lock is held, because closing a file that SQLite has open elsewhere in
this process would drop its locks; nothing is given to SQLite before the header says that the file is ours, because
opening a database may roll back its journal; nothing is served before every row has been read. Whatever is wrong
becomes a `DataRefused`, and the files stay as they are: we never repair by deleting.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import apsw

from nagaya.apiserver.storage.errors import (
    CorruptData,
    DataNotPermitted,
    DataRefused,
    ForeignData,
    NewerData,
)
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.sqlite.database import Database, connect
from nagaya.apiserver.storage.sqlite.failures import RESTORE, open_failure
from nagaya.apiserver.storage.sqlite.layout import (
    APPLICATION_ID,
    OLDEST_SCHEMA,
    PAGE_SIZE,
    SCHEMA,
    SCHEMA_VERSION,
    Files,
)
from nagaya.apiserver.storage.sqlite.loading import Loaded, load
from nagaya.apiserver.storage.sqlite.lock import DataLock
from nagaya.apiserver.storage.sqlite.migration import initialise, migrate
from nagaya.world import Clock

_MAGIC = b"SQLite format 3\x00"
_OWNER_ONLY = 0o600
_OWNERS_DIRECTORY = 0o700
_WORLD_WRITABLE = 0o002


@dataclass(slots=True)
class OpenData:
    """A data directory that is ours until it is released."""

    lock: DataLock
    database: Database
    loaded: Loaded


def open_data(directory: Path, clock: Clock, retention: Retention, *, check: bool, vfs: str | None) -> OpenData:
    """Lock, verify and load a directory, making it first if need be. Raises `DataRefused`.

    Every start reads and checks every row. The structure of the file is checked as well (SQLite's quick_check) if the
    last process did not end properly, which a leftover write-ahead log shows, or if `check` asks for it.
    """
    files = Files(directory)
    prepare_directory(directory)
    lock = DataLock(files.lock)
    try:
        if not files.database.exists():
            _create(files, vfs)
        check_header(files.database)
        database, loaded = _connect_and_load(files, clock, retention, check or _has_leftover_log(files), vfs)
    except BaseException:
        lock.release()
        raise
    return OpenData(lock, database, loaded)


def prepare_directory(directory: Path) -> None:
    """Make a directory that only its owner can enter; of one that is there, be sure that not everybody can write to
    it.
    """
    try:
        directory.mkdir(mode=_OWNERS_DIRECTORY, parents=True, exist_ok=True)
        mode = directory.stat().st_mode
    except OSError as error:
        remedy = "Choose another data directory, or make this one and give it to the user of this process"
        raise DataNotPermitted(directory, f"cannot be used as a data directory ({error.strerror})", remedy) from error
    if mode & _WORLD_WRITABLE:
        remedy = f"Choose a directory of its own, or run `chmod o-w {directory}`"
        raise DataNotPermitted(directory, "every user of this machine can replace files in it", remedy)
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        remedy = "Mount it so that it can be written, or choose another data directory"
        raise DataNotPermitted(directory, "its file system is read-only", remedy)
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        remedy = "Give it to the user of this process, or choose another data directory"
        raise DataNotPermitted(directory, "this user may not read and write in it", remedy)


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


def create_database(path: Path, vfs: str | None = None) -> None:
    """Make an empty database."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        pragmas = f"PRAGMA page_size = {PAGE_SIZE}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL"
        connection.execute(pragmas)
        with connection:
            connection.execute(SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            initialise(connection)
    finally:
        connection.close()


def synchronise(path: Path) -> None:
    """Wait until a file or the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(files: Files, vfs: str | None) -> None:
    """Make the database under another name first, so that a file of the real name is always complete."""
    if files.restoring.exists():
        raise DataRefused(
            files.restoring, "a restore was interrupted", "Run `nagaya restore` again with the same backup"
        )
    if files.log.exists():
        remedy = "Put state.db back; if its loss is final, move the log away to start empty, or restore a backup"
        raise CorruptData(files.log, "the write-ahead log is there but state.db, to which it belongs, is not", remedy)
    for leftover in files.directory.glob(f"{files.unfinished.name}*"):
        leftover.unlink()  # from a start that was interrupted before the database was ever used
    try:
        create_database(files.unfinished, vfs)
        files.unfinished.rename(files.database)
        synchronise(files.directory)
    except apsw.Error as error:
        raise open_failure(files.database, error) from error
    except OSError as error:
        remedy = "Check the file system and the permissions of the directory"
        raise DataNotPermitted(files.database, f"cannot be created ({error.strerror})", remedy) from error


def _has_leftover_log(files: Files) -> bool:
    try:
        return files.log.stat().st_size > 0
    except FileNotFoundError:
        return False


def _connect_and_load(
    files: Files, clock: Clock, retention: Retention, check: bool, vfs: str | None
) -> tuple[Database, Loaded]:
    path = files.database
    try:
        connection = connect(path, vfs)
        try:
            check_database(connection, path, thorough=check)
            migrate(connection, path)
            loaded = load(connection, path, retention, clock)
            _close_to_others(path)
            return Database(connection, path, loaded), loaded
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise open_failure(path, error) from error


def _close_to_others(path: Path) -> None:
    if path.stat().st_mode & 0o077:
        try:
            path.chmod(_OWNER_ONLY)
        except OSError as error:
            finding = f"other users can read it, and that cannot be changed ({error.strerror})"
            raise DataNotPermitted(path, finding, f"Run `chmod 600 {path}` as its owner") from error


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
