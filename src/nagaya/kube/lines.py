"""Lines out of a stream that is cut into chunks anywhere.

A watch sends one event per line. A line may be megabytes long and arrive in hundreds of chunks, or hundreds of lines in
one chunk, so nothing is searched or joined twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable


async def lines(chunks: AsyncIterable[bytes]) -> AsyncGenerator[list[bytes], None]:
    """The complete lines that each chunk brings, empty ones left out.

    What follows the last line break when the stream ends is half a line: it is dropped, as whoever watches again from
    the last event gets it whole.
    """
    begun: list[bytes] = []
    async for chunk in chunks:
        found = chunk.split(b"\n")
        rest = found.pop()
        if found and begun:
            begun.append(found[0])
            found[0] = b"".join(begun)
            begun.clear()
        if rest:
            begun.append(rest)
        if complete := [line for line in found if line]:
            yield complete
