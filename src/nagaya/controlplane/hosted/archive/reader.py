"""Reads an archive. Whatever is wrong with it, it is told by ArchiveDamaged, at the latest after the last member.

Nothing of an archive is ever written under a name that it brings along, and no member is held that is larger than an
archive of ours can have.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import os
import re
import tarfile
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import msgspec

from nagaya.controlplane.hosted.archive import form
from nagaya.controlplane.hosted.archive.errors import ArchiveDamaged, ArchiveError
from nagaya.controlplane.hosted.archive.form import Head, Sums
from nagaya.controlplane.hosted.data_store import snapshots
from nagaya.controlplane.hosted.data_store.errors import SnapshotDamaged

_UNREADABLE: Final = (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError, OverflowError)
_REST: Final = 1 << 20
_printable: Final = re.compile(r"[ -~]{0,256}").fullmatch
_name: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?").fullmatch
T = TypeVar("T")
Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """An archive that was read to its last byte and found whole."""

    head: Head
    cluster: Content
    control_plane: Content
    secrets: Mapping[str, Content] = field(repr=False)
    """By name."""
    revision: int
    """Of the store, when the copy was made."""
    keys: int
    digest: str
    """What no other archive has."""


def members(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """The members and what is in them, one after the other. Raises ArchiveDamaged."""
    file.seek(0)
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as packed:
            unpacked = _Unpacked(packed, form.FREE + form.RATIO * os.fstat(file.fileno()).st_size)
            yield from _checked(unpacked)
            while rest := unpacked.read(_REST):  # to the sum of the whole, which only its end tells
                if rest.strip(b"\0"):
                    raise ArchiveDamaged("the archive is damaged: something follows its end.")
    except _UNREADABLE as error:
        raise ArchiveDamaged("the archive is damaged, or the file is no archive of a tenant.") from error
    except OSError as error:
        raise ArchiveError(f"the archive cannot be read: {error.strerror or error}.") from error


class _Unpacked:
    """What an archive unpacks to, as far as its size allows."""

    def __init__(self, packed: gzip.GzipFile, most: int) -> None:
        self._packed = packed
        self._left = most

    def read(self, size: int) -> bytes:
        """At most so many bytes; fewer at the end alone."""
        found = self._packed.read(size)
        self._left -= len(found)
        if self._left < 0:
            raise ArchiveDamaged("the archive is damaged: it unpacks to far more than the data of a tenant does.")
        return found

    def header(self) -> tarfile.TarInfo | None:
        """The next header as it stands, without interpreting links, sparse files and extended headers; None at the
        end."""
        block = self.read(tarfile.BLOCKSIZE)
        return tarfile.TarInfo.frombuf(block, "utf-8", "strict") if block.strip(b"\0") else None


def _checked(unpacked: _Unpacked) -> Iterator[tuple[str, bytes]]:
    sums: dict[str, str] = {}
    last, pieces = "", 0
    while (member := unpacked.header()) is not None:
        name = member.name
        belongs = member.type == tarfile.REGTYPE and form.follows(last, name, pieces)
        if not belongs or len(sums) - pieces > form.MOST_OBJECTS:
            raise ArchiveDamaged(f"the archive is damaged, or no archive of a tenant: {name!r} does not belong there.")
        is_object = name.endswith(".json") and name != form.SUMS
        if not 0 <= member.size <= (form.LARGEST_OBJECT if is_object else form.LARGEST):
            raise ArchiveDamaged(f"the archive is damaged: {name} has {member.size} bytes, which is not possible.")
        content = unpacked.read(member.size)
        unpacked.read(-member.size % tarfile.BLOCKSIZE)
        if len(content) != member.size:
            raise ArchiveDamaged("the archive is damaged, or ends too early.")
        if name == form.SUMS:
            if decoded(content, Sums, name).members != sums:
                raise ArchiveDamaged("the archive is damaged: what it holds is not what was written.")
        else:
            sums[name] = hashlib.sha256(content).hexdigest()
        last, pieces = name, pieces + name.startswith(form.DATA)
        yield name, content
    if last != form.SUMS:
        raise ArchiveDamaged("the archive is damaged, or ends too early.")


def decoded(content: bytes, kind: type[T], name: str) -> T:
    """What a member says. Raises ArchiveDamaged."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ArchiveDamaged(f"the archive is damaged: {name} cannot be understood.") from error


class Archive:
    """An open archive: the same file for all that is done with it, whatever becomes of its name."""

    def __init__(self, path: Path) -> None:
        """Raises ArchiveError if it cannot be opened."""
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ArchiveError(f"{path} cannot be read: {error.strerror or error}.") from error

    @property
    def size(self) -> int:
        """Its bytes."""
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    async def data(self) -> AsyncIterator[bytes]:
        """The copy of the data, piece by piece."""
        async for name, content in self._members():
            if name.startswith(form.DATA):
                yield content

    async def contents(self) -> Contents:
        """Read all of it, and check all of it. Raises ArchiveDamaged."""
        small: dict[str, bytes] = {}

        async def pieces() -> AsyncIterator[bytes]:
            async for name, content in self._members():
                if name.startswith(form.DATA):
                    yield content
                else:
                    small[name] = content
                    if name == form.HEAD:
                        _check_form(decoded(content, Head, name))

        reader = snapshots.Reader(pieces())
        try:
            copy = await reader.head()
            keys = 0
            async for page in reader.pages():
                keys += len(page)
        except SnapshotDamaged as error:
            raise ArchiveDamaged(str(error)) from error
        head = decoded(small[form.HEAD], Head, form.HEAD)
        if copy.tenant != head.uid:
            raise ArchiveDamaged("the archive is damaged: its data is of another tenant than its objects.")
        return Contents(
            head,
            _object(small, form.CLUSTER),
            _object(small, form.CONTROL_PLANE),
            {
                name.removeprefix(form.SECRETS).removesuffix(".json"): _object(small, name)
                for name in small
                if name.startswith(form.SECRETS)
            },
            copy.revision,
            keys,
            hashlib.sha256(small[form.SUMS]).hexdigest(),
        )

    async def _members(self) -> AsyncIterator[tuple[str, bytes]]:
        found = members(self._file)
        while (each := await asyncio.to_thread(next, found, None)) is not None:
            yield each


def _check_form(head: Head) -> None:
    if head.format != form.FORMAT:
        raise ArchiveDamaged(
            f"the archive is of the form {head.format!r}, and this version of Nagaya reads {form.FORMAT!r}."
        )
    texts = [value for value in msgspec.to_builtins(head).values() if isinstance(value, str)]
    names = (head.namespace, head.cluster, head.control_plane, head.data_store)
    if not all(map(_printable, texts)) or not all(map(_name, names)):
        raise ArchiveDamaged(f"the archive is damaged: {form.HEAD} has a name that no object can have.")


def _object(small: Mapping[str, bytes], name: str) -> Content:
    found: Content = decoded(small[name], dict[str, Any], name)
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise ArchiveDamaged(f"the archive is damaged: {name} is no object of Kubernetes.")
    return found
