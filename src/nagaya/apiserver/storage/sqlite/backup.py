"""A copy of everything, in one file, while the server runs.

The copy is made by a connection that only reads. In a write-ahead log readers and the writer do not wait for each
other, so this works in the server's own process and from another one alike, and the result is the state at one
revision. It gets its name only when it is complete, checked and on the disk.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from nagaya.apiserver.storage.errors import CorruptData, DataExists, DataRefused, ForeignData, StorageFailure
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.sqlite.failures import RESTORE, open_failure, reading
from nagaya.apiserver.storage.sqlite.layout import APPLICATION_ID, Files
from nagaya.apiserver.storage.sqlite.loading import load
from nagaya.apiserver.storage.sqlite.mark import Marked, read_mark
from nagaya.apiserver.storage.sqlite.opening import check_database
from nagaya.pki.files import PRIVATE, synchronise
from nagaya.world import SystemClock

_BUSY_MILLISECONDS = 5000


def backup_directory(directory: Path, destination: Path, *, overwrite: bool = False) -> None:
    """Back up a data directory, whether or not a server works on it."""
    files = Files(directory)
    if not files.database.exists():
        raise DataRefused(directory, "there is no database in it", "Name the data directory of a server")
    if destination.resolve() in {each.resolve() for each in files.own}:
        # Also with `overwrite`: a server would go on with a file that has no name any more.
        raise DataRefused(destination, "this is the data itself, and no place for a copy", "Choose another name")
    copy_database(files.database, destination, overwrite=overwrite)


def copy_database(source: Path, destination: Path, *, overwrite: bool = False) -> None:
    """Write a consistent copy of a database. Raises `DataExists`, another `DataRefused`, or `StorageFailure`."""
    if destination.exists() and not overwrite:
        raise DataExists(destination, "there is a file of that name", "Choose another name, or replace it with --force")
    partial = destination.with_name(f".{destination.name}.{os.getpid()}.partial")
    try:
        mark = read_mark(source.with_name("state.mark"))  # first: the copy holds all that it names, and maybe more
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        _vacuum_into(source, partial)
        _verify(partial, mark)
        synchronise(partial)
        partial.rename(destination)
        synchronise(destination.parent)
    except apsw.Error as error:
        raise StorageFailure(f"{destination}: the backup failed ({error}). {_remedy(error)}") from error
    except OSError as error:
        remedy = "Check the directory and its permissions"
        raise StorageFailure(f"{destination}: the backup failed ({error.strerror}). {remedy}") from error
    finally:
        for leftover in destination.parent.glob(f"{partial.name}*"):  # also SQLite's journal of it
            leftover.unlink()


def _vacuum_into(source: Path, partial: Path) -> None:
    name, flags = str(source), apsw.SQLITE_OPEN_READONLY
    if not os.access(source.parent, os.W_OK) and not source.with_name(f"{source.name}-wal").exists():
        # SQLite would make a log first. Where it cannot, nobody can write either.
        name, flags = f"{source.resolve().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(name, flags=flags)
    except apsw.Error as error:
        raise open_failure(source, error) from error
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        application = connection.execute("PRAGMA application_id").get
        if application != APPLICATION_ID:
            raise ForeignData(source, "this is not a database of Nagaya", "Name the data directory of a server")
        connection.execute("VACUUM INTO ?", (str(partial),))
    finally:
        connection.close()


def _verify(partial: Path, mark: Marked | None) -> None:
    connection = apsw.Connection(str(partial), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with reading(partial):
            check_database(connection, partial, thorough=True)
            contents = load(connection, partial, Retention(), SystemClock()).contents
        if mark is not None and contents.revision < mark.acknowledged:
            finding = f"it ends at revision {contents.revision}, but {mark.acknowledged} was acknowledged"
            raise CorruptData(partial, finding, RESTORE)
    except CorruptData as error:
        raise StorageFailure(f"the copy is not intact: {error.finding}. Check the disk of the backup") from error
    finally:
        connection.close()


def _remedy(error: apsw.Error) -> str:
    if isinstance(error, apsw.FullError):
        return "Free space where the backup goes. The data itself is not affected"
    return "The data itself is not affected"
