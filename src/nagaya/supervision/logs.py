"""Logs in files, rotated by size and number.

A process writes straight into its file, opened to append. A pipe would need somebody at its other end: the supervisor,
whose death would then block or kill what it supervises, or one more process for each. The price is that a file that is
being written cannot be moved away: it is copied and emptied. What is written between the last byte that was read and
the emptying, two system calls in a row, is lost; a crash in between keeps lines twice, never not at all. While no
supervisor runs, logs grow.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

_TAIL_BYTES = 16 * 1024
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How much is kept of each process."""

    size: int = 10 << 20
    """Bytes that a file may have before it is rotated; looked at every `interval`, so it can be more."""
    kept: int = 4
    """Older files beside the current one."""
    interval: float = 10.0
    """Seconds between two looks: no kernel tells when a file reaches a size."""


def open_log(path: Path) -> int:
    """A descriptor for a process to write to."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def rotate(path: Path, limits: LogLimits) -> bool:
    """Rotate the log if it is too big; tells whether it was."""
    try:
        if path.stat().st_size <= limits.size:
            return False
    except FileNotFoundError:
        return False
    copy = path.with_name(f"{path.name}.copy")
    copy.unlink(missing_ok=True)
    # Unbuffered, so that nothing stands between the last read and the emptying.
    with path.open("r+b", buffering=0) as log, open(copy, "xb", buffering=0, opener=_private) as kept:
        shutil.copyfileobj(log, kept, _CHUNK)
        _shift(path, limits.kept)
        if limits.kept:
            copy.replace(_older(path, 1))
        else:
            copy.unlink()
        shutil.copyfileobj(log, kept, _CHUNK)
        os.ftruncate(log.fileno(), 0)
    return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def last_lines(path: Path, count: int = 20) -> tuple[str, ...]:
    """The last words of a process."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
            told = log.read(_TAIL_BYTES)
    except FileNotFoundError:
        return ()
    return tuple(told.decode(errors="replace").splitlines()[-count:])


def _shift(path: Path, kept: int) -> None:
    """Every older file becomes one older; the oldest goes."""
    for number in range(kept - 1, 0, -1):
        if (younger := _older(path, number)).exists():
            younger.replace(_older(path, number + 1))


def _older(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
