"""What the storage tests stand on: a clock that is moved by hand, small objects, and disks that fail on demand."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import orjson


class ManualClock:
    """Stands still until it is told to move."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return 1000.0 + self._seconds

    def advance(self, seconds: float) -> None:
        self._seconds += seconds


def encoded(name: str, content: object = None, labels: Mapping[str, str] | None = None) -> Callable[[int], bytes]:
    """An encoder of a small object, which carries its revision as stored objects do."""

    def encode(revision: int) -> bytes:
        metadata = {"name": name, "resourceVersion": str(revision), **({"labels": labels} if labels else {})}
        return orjson.dumps({"metadata": metadata, "content": content})

    return encode


class Disk(apsw.VFS):
    """A layer between SQLite and the file system on which writing or waiting for the disk can be made to fail."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.write_error: apsw.Error | None = None
        self.sync_error: apsw.Error | None = None
        self.checkpoint_error: apsw.Error | None = None
        self.writes_before_error = 0
        self.syncs = 0
        super().__init__(name, "")

    def heal(self) -> None:
        self.write_error = self.sync_error = self.checkpoint_error = None
        self.writes_before_error = 0

    def check_write(self, into_database: bool) -> None:
        if into_database and self.checkpoint_error is not None:
            raise self.checkpoint_error
        if self.write_error is not None:
            if self.writes_before_error == 0:
                raise self.write_error
            self.writes_before_error -= 1

    def check_sync(self) -> None:
        self.syncs += 1
        if self.sync_error is not None:
            raise self.sync_error

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_database = bool(flags[0] & apsw.SQLITE_OPEN_MAIN_DB)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.check_write(self._is_database)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.check_sync()
        super().xSync(flags)


def as_after_a_kill(directory: Path, into: Path) -> Path:
    """A copy of the files of a running store, as a process that is killed at this moment leaves them."""
    into.mkdir(mode=0o700)
    for name in ("state.db", "state.db-wal", "state.mark", "state.key"):
        if (directory / name).exists():
            shutil.copyfile(directory / name, into / name)
    return into
