"""Streams within the process, cut as finely as a test wants."""

from __future__ import annotations

import asyncio

from nagaya.kube.streams.stream import CHUNK, StreamBroken


class PipeEnd:
    """One end of a pipe."""

    def __init__(self, piece: int, limit: int) -> None:
        self.peer: PipeEnd
        self.closed = False
        self._piece = piece
        self._limit = limit
        self._unread = bytearray()
        self._ended = False
        self._changed = asyncio.Condition()

    async def read(self, limit: int = CHUNK) -> bytes:
        """At most as many bytes as the pipe gives at once."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._unread or self._ended or self.closed)
            if self.closed:
                raise StreamBroken("the pipe has been closed")
            size = min(limit, self._piece)
            data = bytes(self._unread[:size])
            del self._unread[:size]
            self._changed.notify_all()
            return data

    async def write(self, data: bytes) -> None:
        """Waits while the other end has enough."""
        peer = self.peer
        if self.closed:
            raise StreamBroken("the pipe has been closed")
        async with peer._changed:
            if peer.closed:
                raise StreamBroken("the other end hung up")
            peer._unread += data
            peer._changed.notify_all()
            await peer._changed.wait_for(lambda: len(peer._unread) < peer._limit or peer.closed)

    async def write_eof(self) -> None:
        """The other end reads to the end of what there is."""
        async with self.peer._changed:
            self.peer._ended = True
            self.peer._changed.notify_all()

    async def close(self) -> None:
        """Both directions end."""
        if self.closed:
            return
        self.closed = True
        await self.write_eof()
        async with self._changed:
            self._changed.notify_all()


def pipe(piece: int = CHUNK, limit: int = 1 << 20) -> tuple[PipeEnd, PipeEnd]:
    """Two ends; each reads at most `piece` bytes at once and lets the other wait from `limit` bytes on."""
    here, there = PipeEnd(piece, limit), PipeEnd(piece, limit)
    here.peer, there.peer = there, here
    return here, there
