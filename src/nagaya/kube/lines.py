"""Events out of a stream that is cut into chunks anywhere.

A watch of the Kubernetes API server sends one event per line. A line may be megabytes long and arrive in hundreds of
chunks, or hundreds of lines in one chunk, so nothing is searched or joined twice.

Go's clients read JSON however it is laid out, so there are other servers that indent each event over many lines, with
nothing after its last brace. Those are told apart by how the stream begins.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Final

_INDENTED: Final = b"{\n"
_CLOSED: Final = b"\n}"  # a brace that is not indented is the event's own
LONGEST: Final = 16 << 20
"""Bytes of an event: etcd takes objects of 1.5 MiB."""


class LineTooLong(Exception):
    """The server sends a line that does not end."""


def _check(length: int, longest: int) -> None:
    if length > longest:
        raise LineTooLong(f"an event has more than {longest >> 20} MiB. Check what answers at this address")


async def lines(chunks: AsyncIterable[bytes], longest: int = LONGEST) -> AsyncGenerator[list[bytes], None]:
    """The complete lines that each chunk brings, empty ones left out; an event indented over several is one of them.
    Raises LineTooLong.

    What follows the last line break when the stream ends is half a line: it is dropped, as whoever watches again from
    the last event gets it whole.
    """
    source = aiter(chunks)
    begin = await _beginning(source)
    if begin.startswith(_INDENTED):
        async for complete in _indented(begin, source, longest):
            yield complete
        return
    begun: list[bytes] = []
    length = 0
    chunk: bytes | None = begin
    while chunk is not None:
        found = chunk.split(b"\n")
        rest = found.pop()
        if found and begun:
            begun.append(found[0])
            found[0] = b"".join(begun)
            begun.clear()
            length = 0
        if rest:
            begun.append(rest)
            length += len(rest)
            _check(length, longest)
        if complete := [line for line in found if line]:
            yield complete
        chunk = await anext(source, None)


async def _beginning(source: AsyncIterator[bytes]) -> bytes:
    """The first chunk, with more of them if it is too short to tell how events are laid out."""
    begin = b""
    while len(begin) < len(_INDENTED) and (chunk := await anext(source, None)) is not None:
        begin += chunk
    return begin


async def _indented(begin: bytes, source: AsyncIterator[bytes], longest: int) -> AsyncGenerator[list[bytes], None]:
    buffer = bytearray(begin)
    searched = 0
    while True:
        complete = []
        while (end := buffer.find(_CLOSED, searched)) >= 0:
            end += len(_CLOSED)
            complete.append(bytes(buffer[:end]))
            del buffer[:end]
            searched = 0
        if complete:
            yield complete
        searched = max(0, len(buffer) - 1)
        _check(len(buffer), longest)
        if (chunk := await anext(source, None)) is None:
            return
        buffer += chunk
