"""The files of a store on the file system: whose they are, and when they are on the disk."""

from __future__ import annotations

import os
from pathlib import Path

from nagaya.apiserver.storage.errors import DataNotPermitted

OWNER_ONLY = 0o600
_OWNERS_DIRECTORY = 0o700
_WORLD_WRITABLE = 0o002


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


def synchronise(path: Path) -> None:
    """Wait until a file or the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def close_to_others(path: Path) -> None:
    if path.stat().st_mode & 0o077:
        try:
            path.chmod(OWNER_ONLY)
        except OSError as error:
            finding = f"other users can read it, and that cannot be changed ({error.strerror})"
            raise DataNotPermitted(path, finding, f"Run `chmod 600 {path}` as its owner") from error
