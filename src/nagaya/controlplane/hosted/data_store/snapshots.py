"""A copy of one tenant's data, in a form that fits every store.

A stream of frames, each a length in four bytes and that much MessagePack: a head, the entries, and a foot with the
number of entries and the digest of all of them. Without its foot a copy is not whole. Keys are without the tenant's
prefix, so that a copy can be restored under another; of a lease it holds how many seconds were left, and which keys
shared it.

What a copy cannot mend: where a tenant's data is encrypted by its kube-apiserver, the ciphers bind values to their
whole keys. Such a copy can be read only under the prefix that it was made from, and with the same keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Final, TypeVar

import msgspec

from nagaya.controlplane.hosted.data_store.errors import SnapshotDamaged

FORMAT: Final = "nagaya.tenant/1"
_LENGTH: Final = 4
_LARGEST: Final = 64 << 20
"""etcd's own limit for a value is 1.5 MiB, and can be raised."""


class Head(msgspec.Struct, frozen=True, tag="head"):
    """The first frame."""

    revision: int
    """Of the store, when the copy was made. No key in it is newer."""
    taken: str
    """When, as RFC 3339."""
    tenant: str
    """The uid of the tenant that it was made from."""
    format: str = FORMAT


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One key."""

    key: bytes
    """After the prefix and its slash."""
    value: bytes
    lease: int = 0
    """Keys with the same number shared a lease; 0 is none."""
    seconds: int = 0
    """What was left of the lease."""


class Foot(msgspec.Struct, frozen=True, tag="foot"):
    """The last frame."""

    entries: int
    digest: bytes


_Frame = Head | Entry | Foot
T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder()
_heads_and_feet: msgspec.msgpack.Decoder[Head | Foot] = msgspec.msgpack.Decoder(Head | Foot)
_entries: msgspec.msgpack.Decoder[Entry] = msgspec.msgpack.Decoder(Entry)


def _framed(frame: _Frame) -> bytes:
    body = _encoder.encode(frame)
    return len(body).to_bytes(_LENGTH, "big") + body


async def encode(head: Head, pages: AsyncIterable[Sequence[Entry]]) -> AsyncIterator[bytes]:
    """The copy, a piece for each page."""
    yield _framed(head)
    digest, count = hashlib.sha256(), 0
    async for page in pages:
        piece = b"".join(map(_framed, page))
        digest.update(piece)
        count += len(page)
        if piece:
            yield piece
    yield _framed(Foot(count, digest.digest()))


class Reader:
    """Reads a copy from pieces of any size."""

    def __init__(self, pieces: AsyncIterable[bytes]) -> None:
        self._pieces = aiter(pieces)
        self._buffer = bytearray()

    async def head(self) -> Head:
        """The head. Raises SnapshotDamaged."""
        frame = await self._frame()
        head = _decoded(_heads_and_feet, frame)
        if not isinstance(head, Head) or head.format != FORMAT:
            raise SnapshotDamaged("the copy is not one of a tenant, or of a form that this version does not know.")
        return head

    async def pages(self, size: int = 500) -> AsyncIterator[list[Entry]]:
        """The entries. Raises SnapshotDamaged, at the end too: only then it is known that nothing is missing."""
        digest, count = hashlib.sha256(), 0
        page: list[Entry] = []
        while True:
            frame = await self._frame()
            if _is_array(frame):
                digest.update(len(frame).to_bytes(_LENGTH, "big") + frame)
                page.append(_decoded(_entries, frame))
                if len(page) == size:
                    count += size
                    yield page
                    page = []
                continue
            count += len(page)
            if page:
                yield page
            foot = _decoded(_heads_and_feet, frame)
            if not isinstance(foot, Foot) or foot.entries != count or foot.digest != digest.digest():
                raise SnapshotDamaged("the copy is damaged: what it holds is not what was written.")
            if self._buffer or await self._more():
                raise SnapshotDamaged("the copy is damaged: something follows its end.")
            return

    async def _frame(self) -> bytes:
        await self._fill(_LENGTH)
        length = int.from_bytes(self._buffer[:_LENGTH], "big")
        if length > _LARGEST:
            raise SnapshotDamaged(f"the copy is damaged: an entry of {length} bytes is not possible.")
        await self._fill(_LENGTH + length)
        frame = bytes(self._buffer[_LENGTH : _LENGTH + length])
        del self._buffer[: _LENGTH + length]
        return frame

    async def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            if not await self._more():
                raise SnapshotDamaged("the copy ends too early.")

    async def _more(self) -> bool:
        async for piece in self._pieces:
            if piece:
                self._buffer += piece
                return True
        return False


def _is_array(frame: bytes) -> bool:
    """Entries are arrays in MessagePack, heads and feet are maps: told apart by the first byte."""
    return bool(frame) and (frame[0] & 0xF0 == 0x90 or frame[0] in (0xDC, 0xDD))


def _decoded(decoder: msgspec.msgpack.Decoder[T], frame: bytes) -> T:
    try:
        return decoder.decode(frame)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SnapshotDamaged("the copy is damaged: an entry cannot be read.") from error
