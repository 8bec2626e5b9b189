"""The files of a store on the file system: whose they are."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from nagaya.apiserver.storage.errors import DataNotPermitted
from nagaya.pki.files import NotPrivate, keep_private

_OWNERS_DIRECTORY = 0o700


def prepare_directory(directory: Path) -> None:
    """Make a directory that only its owner can enter. One that is there is closed to others, and refused if they can
    have put files in it.
    """
    named = directory.absolute()
    for path in (named, *named.parents):
        if path.is_symlink() and path.lstat().st_uid not in (os.geteuid(), 0):
            raise DataNotPermitted(path, "this symbolic link belongs to another user", "Name the directory itself")
    try:
        directory.mkdir(mode=_OWNERS_DIRECTORY, parents=True, exist_ok=True)
        mode = directory.stat().st_mode
        place = directory.resolve(strict=True)
        _check_way(directory, place)
    except OSError as error:
        remedy = "Choose another data directory, or make this one and give it to the user of this process"
        raise DataNotPermitted(directory, f"cannot be used as a data directory ({error.strerror})", remedy) from error
    if mode & stat.S_IWOTH:
        remedy = f"Choose a directory of its own, or run `chmod o-w {directory}`"
        raise DataNotPermitted(directory, "every user of this machine can replace files in it", remedy)
    close_to_others(place)
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        remedy = "Mount it so that it can be written, or choose another data directory"
        raise DataNotPermitted(directory, "its file system is read-only", remedy)
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        remedy = "Give it to the user of this process, or choose another data directory"
        raise DataNotPermitted(directory, "this user may not read and write in it", remedy)


def _check_way(directory: Path, place: Path) -> None:
    """Refuse a place that others can exchange for one of theirs."""
    for parent in place.parents:
        found = parent.stat()
        shared = found.st_mode & stat.S_IWOTH
        if parent == place.parent and found.st_gid not in (os.getegid(), 0):
            shared |= found.st_mode & stat.S_IWGRP
        if shared and not found.st_mode & stat.S_ISVTX:
            remedy = f"Choose another data directory, or run `chmod go-w {parent}`"
            raise DataNotPermitted(directory, f"other users can exchange it, as they can write to {parent}", remedy)


def close_to_others(path: Path) -> None:
    """Close a file or a directory to other users, if it is there. Raises `DataNotPermitted`."""
    try:
        keep_private(path)
    except NotPrivate as error:
        raise DataNotPermitted(path, error.finding, error.remedy) from error
