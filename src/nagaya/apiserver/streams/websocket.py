"""A WebSocket as a stream, as the server."""

from __future__ import annotations

import asyncio

from nagaya.apiserver.streams.byte_stream import CHUNK, ByteStream
from nagaya.wire import websocket
from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame
from nagaya.wire.websocket_bytes import Incoming, outgoing


class WebSocketStream:
    """A stream over another one that has just been upgraded, which it owns."""

    def __init__(self, under: ByteStream) -> None:
        self._under = under
        self._came = Incoming(masked=True)
        self._gone = False
        self._sending = asyncio.Lock()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none when the client has closed the WebSocket or has gone."""
        while not (self._came or self._came.closed or self._gone):
            data = await self._under.read(CHUNK)
            self._gone = not data
            try:
                answers = self._came.feed(data)
            except Malformed as error:
                raise ConnectionAbortedError(str(error)) from error
            for answer in answers:
                await self._send(answer)
        return self._came.take(limit)

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for frame in outgoing(data, CHUNK):
            await self._send(frame)

    async def write_eof(self) -> None:
        """Close the WebSocket: it has no half-open state that a client would have to honour."""
        await self._send(websocket.encode_close())

    async def close(self) -> None:
        """Close this stream and the one under it."""
        await self._under.close()

    async def _send(self, frame: Frame) -> None:
        async with self._sending:
            await self._under.write(websocket.encode(frame))
