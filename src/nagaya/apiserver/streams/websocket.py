"""A WebSocket as a stream, as the server: bytes travel in binary messages, whose borders mean nothing."""

from __future__ import annotations

import asyncio

from nagaya.apiserver.streams.byte_stream import CHUNK, ByteStream
from nagaya.wire import websocket
from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame, FrameReader, Opcode


class WebSocketStream:
    """A stream over another one that has just been upgraded, which it owns."""

    def __init__(self, under: ByteStream) -> None:
        self._under = under
        self._frames = FrameReader(masked=True)
        self._unread = bytearray()
        self._ended = False
        self._sending = asyncio.Lock()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none when the client has closed the WebSocket or has gone."""
        while not self._unread and not self._ended:
            data = await self._under.read(CHUNK)
            if not data:
                self._ended = True
            try:
                for frame in self._frames.feed(data):
                    await self._take(frame)
            except Malformed as error:
                raise ConnectionAbortedError(str(error)) from error
        taken = bytes(self._unread[:limit])
        del self._unread[:limit]
        return taken

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for begin in range(0, len(data), CHUNK):
            await self._send(Frame(Opcode.BINARY, data[begin : begin + CHUNK]))

    async def write_eof(self) -> None:
        """Close the WebSocket: it has no half-open state that a client would have to honour."""
        await self._send(websocket.encode_close())

    async def close(self) -> None:
        """Close this stream and the one under it."""
        await self._under.close()

    async def _take(self, frame: Frame) -> None:
        match frame.opcode:
            case Opcode.BINARY | Opcode.CONTINUATION:
                if not self._ended:
                    self._unread += frame.payload
            case Opcode.PING:
                await self._send(Frame(Opcode.PONG, frame.payload))
            case Opcode.CLOSE:
                self._ended = True
            case Opcode.TEXT:
                raise Malformed("text came over a WebSocket that carries bytes")
            case Opcode.PONG:
                pass

    async def _send(self, frame: Frame) -> None:
        async with self._sending:
            await self._under.write(websocket.encode(frame))
