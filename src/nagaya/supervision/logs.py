"""Logs in files, rotated by size and number.

A process writes straight into its file, opened to append. A pipe would need somebody at its other end: the supervisor,
whose death would then block or kill what it supervises, or one more process for each. The price is that a file that is
being written cannot be moved away: it is copied and emptied. What is written between the last byte that was read and
the emptying, two system calls in a row, is lost; a crash in between keeps lines twice, never not at all. While no
supervisor runs, logs grow.

A program may write faster than anybody copies, or make its log long without writing: of a log that is far too long only
the end is kept, and no more is copied than that.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import FileIO
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
    longest: int = 50 << 20
    """Bytes up to which a log is kept as a whole when it is rotated; of a longer one only the end."""
    interval: float = 10.0
    """Seconds between two looks: no kernel tells when a file reaches a size."""


def open_log(path: Path) -> int:
    """A descriptor for a process to write to."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def rotate(path: Path, limits: LogLimits) -> bool:
    """Rotate the log if it is too big; tells whether it was."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return False
    if size <= limits.size:
        return False
    copy = path.with_name(f"{path.name}.copy")
    copy.unlink(missing_ok=True)
    # Unbuffered, so that nothing stands between the last read and the emptying.
    with FileIO(path, "r+b") as log, FileIO(copy, "xb", opener=_private) as kept:
        log.seek(max(0, size - limits.longest))
        _copy(log, kept, 2 * limits.longest)
        _shift(path, limits.kept)
        if limits.kept:
            copy.replace(_older(path, 1))
        else:
            copy.unlink()
        _copy(log, kept, limits.longest)
        os.ftruncate(log.fileno(), 0)
    return True


def _copy(log: FileIO, kept: FileIO, most: int) -> None:
    """Copy what is left of a log, but no more than this."""
    while most > 0 and (read := log.read(min(most, _CHUNK))):
        kept.write(read)
        most -= len(read)


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
