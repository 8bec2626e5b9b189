"""What has been provided before: a folder per version and platform, and beside each program a record of what it is.

The record is written after the program is in place, and a program without a record that fits does not exist for us.
So a crash at any instant leaves either the old state or the new one. Hashing a gigabyte on every call would cost
seconds: while size and modification time are those in the record the checksum is taken as read, and when they differ
(a copied or restored cache) the whole file is hashed once more.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nagaya.binaries.errors import NO_SPACE_HELP, CacheUnusable
from nagaya.binaries.programs import Product
from nagaya.binaries.releases import Platform


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Nagaya's cache by the XDG rules: an empty or relative XDG_CACHE_HOME counts as unset."""
    named = environment.get("XDG_CACHE_HOME", "")
    base = (
        Path(named) if named and Path(named).is_absolute() else Path(environment.get("HOME") or Path.home()) / ".cache"
    )
    return base / "nagaya"


def sha256_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns a failure to write into words; disk full is the one that people meet."""
    try:
        yield
    except OSError as error:
        help_text = NO_SPACE_HELP if error.errno in (errno.ENOSPC, errno.EDQUOT) else "Check who owns the folder."
        raise CacheUnusable(f"cannot write {path}: {error.strerror or error}. {help_text}") from error


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a program in the cache."""

    sha256: str
    size: int
    modified: int
    """Nanoseconds, as the file system tells them."""
    source: str
    installed: str


@dataclass(frozen=True, slots=True)
class Shelf:
    """The programs of one version for one platform."""

    folder: Path

    @classmethod
    def of(cls, cache: Path, product: Product, version: str, platform: Platform) -> Shelf:
        """The shelf of a version, whether or not anything is on it."""
        return cls(cache / product / version / str(platform))

    def path(self, program: str) -> Path:
        """Where the program is, or would be."""
        return self.folder / program

    def recorded(self, program: str) -> Record | None:
        """The record of a program; None if there is none that can be read."""
        path = self._record_path(program)
        try:
            return Record(**json.loads(path.read_bytes()))
        except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
            return None
        except OSError as error:
            raise CacheUnusable(f"cannot read {path}: {error.strerror}. Check who owns the folder.") from error

    def untouched(self, program: str) -> Record | None:
        """The record, if the program is there and looks as it did when it was recorded. Reads no contents."""
        record = self.recorded(program)
        if record is None:
            return None
        try:
            now = self.path(program).stat()
        except FileNotFoundError:
            return None
        return record if (now.st_size, now.st_mtime_ns) == (record.size, record.modified) else None

    def verified(self, program: str) -> Record | None:
        """The record, if the program's contents have the recorded checksum; a moved date is noted."""
        record = self.recorded(program)
        path = self.path(program)
        if record is None or not path.is_file() or sha256_of(path) != record.sha256:
            return None
        state = path.stat()
        if (state.st_size, state.st_mtime_ns) != (record.size, record.modified):
            record = replace(record, size=state.st_size, modified=state.st_mtime_ns)
            self._write_record(program, record)
        return record

    def adopt(self, program: str, staged: Path, source: str, installed: str, *, mode: int = 0o755) -> Record:
        """Take a finished file over. It must lie on the same file system, and is gone from where it was."""
        target = self.path(program)
        with writing(target):
            self.folder.mkdir(parents=True, exist_ok=True)
            staged.chmod(mode)
            _sync(staged)
            # An old record must not outlive the file that it describes.
            self._record_path(program).unlink(missing_ok=True)
            staged.replace(target)
            _sync(self.folder)
        state = target.stat()
        record = Record(sha256_of(target), state.st_size, state.st_mtime_ns, source, installed)
        self._write_record(program, record)
        return record

    def _record_path(self, program: str) -> Path:
        return self.folder / f"{program}.json"

    def _write_record(self, program: str, record: Record) -> None:
        target = self._record_path(program)
        unfinished = target.with_name(f"{target.name}.new")
        with writing(target):
            unfinished.write_text(json.dumps(asdict(record), indent=2) + "\n")
            _sync(unfinished)
            unfinished.replace(target)
            _sync(self.folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
