"""Writes an archive: beside its place, closed to others, and moved there when it is whole."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
import secrets
import tarfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from nagaya.controlplane.hosted.archive import form
from nagaya.controlplane.hosted.archive.errors import Refused
from nagaya.pki.files import PRIVATE

_LEVEL: Final = 4
"""Of gzip: a third larger than the best, in a third of the time."""


class ArchiveWriter:
    """One archive. Its methods write to a disk: to be called in a thread."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if nothing can be written there."""
        self.path = path
        self.beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(self.beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
        self._file = os.fdopen(descriptor, "w+b")
        os.fchmod(descriptor, PRIVATE)
        self._packed = gzip.GzipFile("", "wb", _LEVEL, self._file, mtime=0)
        self._tar = tarfile.TarFile(fileobj=self._packed, mode="w", format=tarfile.USTAR_FORMAT)
        self._sums: dict[str, str] = {}
        self._data = bytearray()
        self._pieces = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._packed.close()  # without effect on what is finished, and the rest goes
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self.beside.unlink()

    def add(self, name: str, content: bytes) -> None:
        """A member that is no data. Raises ValueError if it is too large."""
        if len(content) > form.LARGEST:
            raise ValueError(f"{name} has {len(content)} bytes, and an archive takes {form.LARGEST}")
        self._sums[name] = hashlib.sha256(content).hexdigest()
        self._write(name, content)

    def add_data(self, piece: bytes) -> None:
        """More of the data, in pieces of any size."""
        self._data += piece
        while len(self._data) >= form.PIECE:
            self._add_piece(bytes(self._data[: form.PIECE]))
            del self._data[: form.PIECE]

    def finish(self) -> None:
        """All is there: have it on the disk."""
        if self._data or not self._pieces:
            self._add_piece(bytes(self._data))
            self._data.clear()
        self._write(form.SUMS, msgspec.json.format(msgspec.json.encode(form.Sums(self._sums)), indent=1))
        self._tar.close()
        self._packed.close()
        self._file.flush()
        os.fsync(self._file.fileno())

    def keep(self, *, overwrite: bool) -> None:
        """Give it its name. Raises Refused if there is a file of this name that must not be replaced."""
        if overwrite:
            self.beside.replace(self.path)
        else:
            try:
                os.link(self.beside, self.path)  # unlike a move, it never replaces
            except FileExistsError:
                raise Refused(f"{self.path} exists. Name another file, or replace it with --force.") from None
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _add_piece(self, content: bytes) -> None:
        self._pieces += 1
        self.add(form.data_member(self._pieces), content)

    def _write(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), PRIVATE
        self._tar.addfile(member, io.BytesIO(content))
