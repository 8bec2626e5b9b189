"""SQLite's errors as sentences: what failed, why, what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from nagaya.apiserver.storage.errors import CorruptData, DataInUse, DataNotPermitted, DataRefused, StorageFailure

RESTORE = (
    "Nothing was changed. Keep a copy of the directory, then restore a backup with `nagaya restore`; "
    "without a backup, `nagaya restore --salvage` keeps what is intact and lists what is lost"
)
_FREE_SPACE = "Free space on its file system; writing works again as soon as there is room"
_CHECK_DISK = "Check the disk (the kernel's log has details); writing works again as soon as the disk does"
_OF_THE_DISK = (apsw.IOError, apsw.CantOpenError, OSError)
_LITTLE = 64 * 1024  # SQLite asks for as much at once


def _is_full(path: Path, error: Exception) -> bool:
    """Whether a failure means that there is no room. SQLite says so of a write only, and not of a quota."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LITTLE


def write_failure(path: Path, error: Exception) -> StorageFailure:
    """Why a write did not become durable."""
    if isinstance(error, apsw.FullError) or (isinstance(error, _OF_THE_DISK) and _is_full(path, error)):
        failure = StorageFailure(f"{path}: the disk is full. {_FREE_SPACE}")
    elif isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError | PermissionError):
        remedy = "Check that the file system is writable and that the files belong to the user of this process"
        failure = StorageFailure(f"{path}: cannot be written to ({error}). {remedy}")
    elif isinstance(error, apsw.IOError | OSError):
        failure = StorageFailure(f"{path}: the disk failed to write ({error}). {_CHECK_DISK}")
    elif isinstance(error, apsw.BusyError | apsw.LockedError):
        remedy = "End the other program (for example a sqlite3 shell with an open transaction)"
        failure = StorageFailure(f"{path}: another program has locked it ({error}). {remedy}")
    elif isinstance(error, apsw.CorruptError | apsw.NotADBError):
        failure = StorageFailure(f"{path}: the database is damaged ({error}). Stop the server. {RESTORE}")
    else:
        failure = StorageFailure(f"{path}: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Rows that are damaged may hold anything: text that is none, or no number where one was."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise CorruptData(path, f"a row in it is damaged ({type(error).__name__})", RESTORE) from error


def open_failure(path: Path, error: Exception) -> DataRefused:
    """Why a database cannot be opened."""
    refusal: DataRefused
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        refusal = DataInUse(path, f"another program has locked it ({error})", "End that program and start again")
    elif isinstance(error, apsw.FullError) or (isinstance(error, _OF_THE_DISK) and _is_full(path, error)):
        refusal = DataRefused(path, "the disk is full", "Free space on its file system and start again")
    elif isinstance(
        error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError | apsw.AuthError | PermissionError
    ):
        remedy = "Check that the directory and its files belong to the user of this process and are writable"
        refusal = DataNotPermitted(path, f"cannot be opened for writing ({error})", remedy)
    elif isinstance(error, apsw.IOError | OSError):
        refusal = DataRefused(path, f"the disk failed ({error})", "Check the disk (the kernel's log has details)")
    else:
        refusal = CorruptData(path, f"the database is damaged ({error})", RESTORE)
    refusal.__cause__ = error
    return refusal
