"""The file of the audit log: appended to in batches, by a thread, and turned over when it is large enough.

Whoever adds a line never waits. Lines are on their way to the file within a moment; when the file is closed all of them
are in it. If the disk refuses them they are kept and tried again, up to a limit: an audit log that cannot be written
must not take the server with it. What was lost beyond the limit is counted and said.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_PAUSE: Final = 0.05  # seconds in which lines are collected
_RETRY: Final = 5.0
_HELD: Final = 64 * 1024 * 1024  # bytes kept in memory while the disk does not take them
_BATCH: Final = 1024 * 1024
_MODE: Final = 0o600


class AuditFile:
    """A file of lines, readable by its owner only."""

    def __init__(self, path: Path, turn_at: int, keep: int) -> None:
        """Open the file. Raises OSError."""
        self._path = path
        self._turn_at = turn_at
        self._keep = keep
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._lost = 0
        self._writer: asyncio.Task[None] | None = None
        self._closing = False
        self._trouble = False
        self._file = self._open()

    def _open(self) -> int:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
        os.fchmod(file, _MODE)
        return file

    def add(self, line: bytes) -> None:
        """Have a line written, soon. It must end with a line feed."""
        if self._closing or self._held + len(line) > _HELD:
            self._lost += 1
            return
        self._lines.append(line)
        self._held += len(line)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write_all(), name="audit log")

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._lines:
            if not self._closing:
                await asyncio.sleep(_PAUSE)
            batch = self._take()
            try:
                await loop.run_in_executor(None, self._write, batch)
            except OSError as error:
                self._lines.appendleft(batch)
                self._complain(error)
                if self._closing:
                    break
                await asyncio.sleep(_RETRY)
            else:
                self._held -= len(batch)
                self._recover()
        self._writer = None

    def _take(self) -> bytes:
        taken, size = [], 0
        while self._lines and size < _BATCH:
            taken.append(self._lines.popleft())
            size += len(taken[-1])
        return b"".join(taken)

    def _write(self, batch: bytes) -> None:
        """Write all or nothing: a line that is cut off would spoil the one after it."""
        begin = os.fstat(self._file).st_size
        if begin and begin + len(batch) > self._turn_at:
            self._turn_over()
            begin = 0
        try:
            done = 0
            while done < len(batch):
                done += os.write(self._file, memoryview(batch)[done:])
        except OSError:
            os.ftruncate(self._file, begin)
            raise

    def _turn_over(self) -> None:
        """Give the file the ending `.1`, its predecessor `.2`, and so on; the oldest goes."""
        for number in range(self._keep, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number - 1}")
            if newer.exists():
                newer.rename(older)
        if self._keep == 0:
            self._path.unlink()
        os.close(self._file)
        self._file = self._open()

    def _complain(self, error: OSError) -> None:
        if not self._trouble:
            self._trouble = True
            log.error("the audit log %s cannot be written (%s); trying again", self._path, error.strerror)

    def _recover(self) -> None:
        if self._trouble:
            self._trouble = False
            log.warning("the audit log %s is written again; %d events were lost", self._path, self._lost)
            self._lost = 0

    async def close(self) -> None:
        """Write what is left, to the disk itself. May be called again."""
        if self._closing:
            return
        self._closing = True
        if self._writer is not None:
            await self._writer
        if self._lines:
            log.error("the audit log %s lost its last %d bytes: the disk did not take them", self._path, self._held)
        try:
            await asyncio.get_running_loop().run_in_executor(None, os.fsync, self._file)
        except OSError as error:
            self._complain(error)
        os.close(self._file)
