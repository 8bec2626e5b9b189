"""A WebSocket as a stream, as the client."""

from __future__ import annotations

import asyncio
import os

from nagaya.foreign_text import escape_line
from nagaya.kube.streams.stream import CHUNK, Stream, StreamBroken
from nagaya.wire import websocket
from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame
from nagaya.wire.websocket_bytes import Incoming, outgoing


class WebSocketStream:
    """A stream over another one that has just been upgraded, which it owns."""

    def __init__(self, under: Stream) -> None:
        self._under = under
        self._came = Incoming(masked=False)
        self._sending = asyncio.Lock()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none when the peer has closed the WebSocket in order."""
        while not (self._came or self._came.closed):
            data = await self._under.read(CHUNK)
            if not data:
                raise StreamBroken("the peer hung up without closing the WebSocket")
            try:
                answers = self._came.feed(data)
                _check_end(self._came.closed)
            except Malformed as error:
                raise StreamBroken(str(error)) from error
            for answer in answers:
                await self._send(answer)
        return self._came.take(limit)

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for frame in outgoing(data, CHUNK):
            await self._send(frame)

    async def write_eof(self) -> None:
        """Close the WebSocket: it has no half-open state that a peer would have to honour."""
        await self._send(websocket.encode_close())

    async def close(self) -> None:
        """Close this stream and the one under it."""
        await self._under.close()

    async def _send(self, frame: Frame) -> None:
        # A mask must be unpredictable, so that no page can forge requests through a proxy; it is no secret.
        async with self._sending:
            await self._under.write(websocket.encode(frame, os.urandom(4)))


def _check_end(closed: Frame | None) -> None:
    if closed is None:
        return
    code, reason = websocket.decode_close(closed)
    if code != websocket.NORMAL_CLOSURE:
        raise StreamBroken(f"the peer closed the WebSocket with code {code}{reason and f': {escape_line(reason)}'}")
