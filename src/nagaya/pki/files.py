"""Files that hold secrets: never readable by others, never half-written.

A file is written beside its place and moved there in one step, so a reader sees the old content or the new one, and a
crash leaves the old.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

PRIVATE = 0o600
PUBLIC = 0o644


def write_atomically(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Put content into a file, replacing what was there. Directories that are missing are made, closed to others."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # What the umask took away is given back, and nothing more than asked for is ever there.
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        raise
    _remember_directory(path.parent)


def _remember_directory(directory: Path) -> None:
    """Make the move itself survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
