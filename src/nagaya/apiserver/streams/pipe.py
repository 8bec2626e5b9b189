"""Two streams in memory, each the other's peer: a connection between two parts of one process."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.streams.byte_stream import CHUNK
from nagaya.wire.bell import Bell

_WAITING: Final = 256 * 1024  # bytes that nobody has read, from which on a writer has to wait


class _Way:
    """One direction."""

    def __init__(self, bell: Bell) -> None:
        self.bell = bell
        self.unread = bytearray()
        self.ended = False  # the writer sends no more
        self.lost = False  # one side has let go of it


class PipeEnd:
    """One end of a pipe. Made by `pipe`."""

    def __init__(self, incoming: _Way, outgoing: _Way) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._closed = False

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end, or when the peer has let go."""
        way = self._incoming
        while not way.unread:
            if self._closed:
                raise ConnectionAbortedError("the stream has been closed")
            if way.ended or way.lost:
                return b""
            await way.bell.wait()
        data = bytes(way.unread[:limit])
        del way.unread[:limit]
        way.bell.ring()
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        way = self._outgoing
        while True:
            if way.lost or way.ended:
                raise BrokenPipeError("the peer has closed the stream")
            if len(way.unread) < _WAITING:
                break
            await way.bell.wait()
        way.unread += data
        way.bell.ring()

    async def write_eof(self) -> None:
        """Send no more."""
        self._outgoing.ended = True
        self._outgoing.bell.ring()

    async def close(self) -> None:
        """Let go of both directions. What the peer has not read yet it still can."""
        self._closed = True
        self._incoming.unread.clear()
        for way in (self._incoming, self._outgoing):
            way.lost = True
            way.bell.ring()


def pipe() -> tuple[PipeEnd, PipeEnd]:
    """Both ends of a new pipe."""
    bell = Bell()
    there, back = _Way(bell), _Way(bell)
    return PipeEnd(there, back), PipeEnd(back, there)
