"""Endpoints on this machine that Nagaya's own processes serve, for other Nagaya processes of the same user.

An emulated Proxmox VE, a simulated cluster or a hosted control plane may listen on loopback, where `address_policy`
lets no connection lead. Whoever serves one says so in a file of the user's data folder, for as long as it serves: the
file is locked meanwhile, and a file without its lock is left from a process that is gone and counts for nothing. The
folder and its files must belong to the user alone.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

log = logging.getLogger(__name__)

_LONGEST: Final = 1 << 20
_UNAVAILABLE: Final = (OSError, RuntimeError)
"""Errors of the folder. Path.home() raises the second for a user without a home."""


def folder() -> Path:
    """Where the files are: the same place for all processes of a user, wherever their data is."""
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "nagaya" / "endpoints"


class Publication:
    """What one process serves. Made with the first entry; gone with the process, however that ends."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._file: int | None = None
        self._path: Path | None = None

    def add(self, entry: str) -> None:
        """One more endpoint, as `--allow-endpoint` takes it."""
        self._entries.append(entry)
        self._write()

    def remove(self, entry: str) -> None:
        """An endpoint is served no longer."""
        with suppress(ValueError):
            self._entries.remove(entry)
            self._write()

    def close(self) -> None:
        """Nothing is served any more."""
        if self._file is not None and self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = self._path = None

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file, self._path = _made(folder())
            content = "".join(f"{each}\n" for each in self._entries).encode()
            os.pwrite(self._file, content, 0)
            os.ftruncate(self._file, len(content))
        except _UNAVAILABLE as error:
            log.warning(
                "%s. Other commands need NAGAYA_ALLOWED_ENDPOINTS=%s to connect to what this one serves.",
                error,
                ",".join(self._entries),
            )


def published() -> Iterator[str]:
    """What processes of this user serve now."""
    try:
        if not _is_private(folder().lstat()):
            return
        files = list(folder().glob("[!.]*"))
    except _UNAVAILABLE:
        return
    for each in files:
        with suppress(OSError), _opened(each) as file:
            if _is_private(os.fstat(file.fileno())) and _is_locked(file.fileno()):
                yield from file.read(_LONGEST).decode(errors="replace").split("\n")[:-1]


def _made(place: Path) -> tuple[int, Path]:
    """A file that is locked before anybody sees it."""
    for each in (place.parent, place):  # the data folder may be made here first
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in place.glob("[!.]*"):
        with suppress(OSError), _opened(each) as left:
            if not _is_locked(left.fileno()):
                each.unlink()
    name = f"{os.getpid()}-{os.urandom(4).hex()}"
    hidden, path = place / f".{name}", place / name
    file = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    hidden.rename(path)
    return file, path


def _opened(path: Path) -> BinaryIO:
    return open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def _is_locked(file: int) -> bool:
    """Whether its process lives."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
