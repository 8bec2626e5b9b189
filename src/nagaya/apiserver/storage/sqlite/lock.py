"""One process per data directory.

The lock is the operating system's, on a file of its own, so it ends with the process however that ends. The file also
names the process, for the message that the second one prints. It is never removed: whoever waits for a removed file
holds a lock on nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from nagaya.apiserver.storage.errors import DataInUse, DataNotPermitted

_MODE = 0o600


class DataLock:
    """Held from `acquire` until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
        except OSError as error:
            remedy = "Check that the directory and its files belong to the user of this process"
            raise DataNotPermitted(path, f"cannot be opened ({error.strerror})", remedy) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 64, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise DataInUse(path.parent, _finding(holder), _remedy(holder)) from None
        except OSError as error:
            os.close(self._file)
            remedy = "Choose a data directory on a file system of this machine"
            raise DataNotPermitted(path, f"cannot be locked ({error.strerror})", remedy) from error
        with contextlib.suppress(OSError):  # on a full disk the lock holds all the same, only the message says less
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the data."""
        os.ftruncate(self._file, 0)
        os.close(self._file)


def _finding(holder: str) -> str:
    if holder == str(os.getpid()):
        return f"this process ({holder}) has it open already"
    return f"in use by process {holder or 'unknown'}"


def _remedy(holder: str) -> str:
    if holder == str(os.getpid()):
        return "Close it first, or choose another data directory"
    return "Stop that process, or choose another data directory"
