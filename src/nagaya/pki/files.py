"""Files that hold secrets: never readable by others, never half-written.

A file is written beside its place and moved there in one step, so a reader sees the old content or the new one, and a
crash leaves the old. A file that was left open to others is closed; one that others may have put there is refused.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import stat
from pathlib import Path

_LOG = logging.getLogger(__name__)
PRIVATE = 0o600
PUBLIC = 0o644


class NotPrivate(ValueError):
    """A file that others may have put there, or can read."""

    def __init__(self, path: Path, finding: str, remedy: str) -> None:
        super().__init__(f"{path}: {finding}. {remedy}")
        self.path = path
        self.finding = finding
        self.remedy = remedy


def keep_private(path: Path) -> None:
    """Close a file or a folder to other users, if it is there. Raises NotPrivate."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise NotPrivate(path, "it is a symbolic link", "Put what it leads to in its place")
    if found.st_uid not in (os.geteuid(), 0):
        remedy = "Run this as that user; or, if nobody else can have changed it, give it to the user of this process"
        raise NotPrivate(path, f"it belongs to another user (uid {found.st_uid})", remedy)
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        try:
            path.chmod(mode & 0o700)
        except OSError as error:
            finding = f"other users can read it, and that cannot be changed ({error.strerror})"
            raise NotPrivate(path, finding, f"Run `chmod {mode & 0o700:o} {path}` as its owner") from error
        _LOG.warning(
            "%s was open to other users (mode %o) and is closed now. Replace secrets they may know", path, mode
        )


def holds(path: Path, content: bytes, mode: int = PRIVATE) -> bool:
    """Whether a file is as `write_atomically` would leave it."""
    try:
        found = path.lstat()
        is_same = stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == mode and found.st_uid == os.geteuid()
        return is_same and found.st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def write_atomically(path: Path, content: bytes, mode: int = PRIVATE, group: int = -1) -> None:
    """Put content into a file, replacing what was there. Directories that are missing are made, closed to others.

    `group` is whose group the file shall be, for a mode that lets a group in; ours if not said."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # What the umask took away is given back, and nothing more than asked for is ever there.
            if group >= 0:
                os.fchown(file.fileno(), -1, group)
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        raise
    synchronise(path.parent)


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
