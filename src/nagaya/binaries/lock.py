"""One process at a time: two builds at once would take twice the memory and the time, and tread on each other's files.

The lock is the kernel's (`flock`), so it is free the moment its holder is gone, however it ended. A build that
outlives a killed parent must still keep others out, so its processes inherit the lock. What the file says is only for
the people who wait: it tells who holds it, never whether it is held.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nagaya.binaries.errors import BinariesError, CacheUnusable
from nagaya.binaries.progress import Reporter
from nagaya.world import Clock

_POLL = 0.2


@contextmanager
def exclusive(path: Path, purpose: str, reporter: Reporter, clock: Clock, patience: float = math.inf) -> Iterator[int]:
    """Hold the lock; waits for it and says for whom. Gives the descriptor, for children that must hold it too.

    Raises BinariesError when another process still holds it after `patience` seconds.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise CacheUnusable(
            f"cannot lock {path}: {error.strerror}. Let XDG_CACHE_HOME name a folder of yours."
        ) from error
    try:
        if not _try(descriptor):
            _wait(descriptor, path, reporter, clock, patience)
        _introduce(descriptor, purpose, clock)
        try:
            yield descriptor
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(descriptor: int, path: Path, reporter: Reporter, clock: Clock, patience: float) -> None:
    deadline = clock.monotonic() + patience
    with reporter.activity(f"Waiting for {_holder(path)}", "seconds") as activity:
        while not _try(descriptor):
            if clock.monotonic() >= deadline:
                raise BinariesError(
                    f"{_holder(path)} is using {path.parent}.\n"
                    "Run the command again when it has finished, or without --no-build to wait."
                )
            activity.tick()
            time.sleep(_POLL)


def _introduce(descriptor: int, purpose: str, clock: Clock) -> None:
    since = clock.now().isoformat(timespec="seconds")
    words = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "since": since}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(words).encode(), 0)


def _holder(path: Path) -> str:
    """Who holds the lock, in words; the file may be empty for the blink between locking and writing."""
    try:
        told = json.loads(path.read_text())
        pid, host, purpose, since = int(told["pid"]), told["host"], told["purpose"], told["since"]
    except (OSError, ValueError, KeyError, TypeError):
        return f"another process that holds {path}"
    if host == socket.gethostname() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
        return f"a build that process {pid} left running when it ended ({purpose}, since {since})"
    return f"process {pid} on {host} ({purpose}, since {since})"
