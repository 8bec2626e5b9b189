"""Blocks of headers, compressed over the life of a connection.

Each direction has one zlib stream, so blocks must be encoded and decoded in the order in which they travel, and a block
that cannot be read spoils all that follow. Names are lower case; text is Latin-1, as HTTP's is.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.dictionary import DICTIONARY

LARGEST_BLOCK: Final = 64 * 1024  # not compressed

Headers = Mapping[str, str]
"""Several values of one name are joined by NUL characters."""


class HeaderCompressor:
    """The sending half."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(9, zdict=DICTIONARY)

    def encode(self, headers: Headers) -> bytes:
        """A block."""
        parts = [len(headers).to_bytes(4, "big")]
        for name, value in headers.items():
            for text in (name.lower().encode("latin-1"), value.encode("latin-1")):
                parts += (len(text).to_bytes(4, "big"), text)
        return self._zlib.compress(b"".join(parts)) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class HeaderDecompressor:
    """The receiving half."""

    def __init__(self, largest: int = LARGEST_BLOCK) -> None:
        self._largest = largest
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def decode(self, block: bytes) -> Headers:
        """The headers of a block. Raises Malformed."""
        try:
            plain = self._zlib.decompress(block, self._largest + 1)
        except zlib.error:
            raise Malformed("a block of SPDY headers cannot be decompressed") from None
        if len(plain) > self._largest or self._zlib.unconsumed_tail:
            raise Malformed(f"a block of SPDY headers has more than {self._largest} bytes")
        if self._zlib.eof or self._zlib.unused_data:
            raise Malformed("the compression of SPDY headers was ended")
        return _parsed(plain)


def _parsed(plain: bytes) -> Headers:
    headers: dict[str, str] = {}
    count, position = _number(plain, 0)
    for _ in range(count):
        name, position = _text(plain, position)
        value, position = _text(plain, position)
        if not name or name != name.lower():
            raise Malformed("a name of a SPDY header is empty or not in lower case")
        if name in headers:
            raise Malformed("a SPDY header is there twice")
        headers[name] = value
    if position != len(plain):
        raise Malformed("a block of SPDY headers is longer than it says")
    return headers


def _text(plain: bytes, position: int) -> tuple[str, int]:
    size, position = _number(plain, position)
    if size > len(plain) - position:
        raise Malformed("a block of SPDY headers ends within a header")
    return plain[position : position + size].decode("latin-1"), position + size


def _number(plain: bytes, position: int) -> tuple[int, int]:
    if len(plain) - position < 4:
        raise Malformed("a block of SPDY headers ends within a number")
    return int.from_bytes(plain[position : position + 4], "big"), position + 4
