"""A WebSocket as a stream, as the client: bytes travel in binary messages, whose borders mean nothing."""

from __future__ import annotations

import asyncio
import os

from nagaya.kube.streams.stream import CHUNK, Stream, StreamBroken
from nagaya.wire import websocket
from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame, FrameReader, Opcode


class WebSocketStream:
    """A stream over another one that has just been upgraded, which it owns."""

    def __init__(self, under: Stream) -> None:
        self._under = under
        self._frames = FrameReader(masked=False)
        self._unread = bytearray()
        self._ended = False
        self._sending = asyncio.Lock()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none when the peer has closed the WebSocket in order."""
        while not self._unread and not self._ended:
            data = await self._under.read(CHUNK)
            if not data:
                raise StreamBroken("the peer hung up without closing the WebSocket")
            try:
                for frame in self._frames.feed(data):
                    await self._take(frame)
            except Malformed as error:
                raise StreamBroken(str(error)) from error
        taken = bytes(self._unread[:limit])
        del self._unread[:limit]
        return taken

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        for begin in range(0, len(data), CHUNK):
            await self._send(Frame(Opcode.BINARY, data[begin : begin + CHUNK]))

    async def write_eof(self) -> None:
        """Close the WebSocket: it has no half-open state that a peer would have to honour."""
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
                code, reason = websocket.decode_close(frame)
                if code != websocket.NORMAL_CLOSURE:
                    raise StreamBroken(f"the peer closed the WebSocket with code {code}{reason and f': {reason}'}")
                self._ended = True
            case Opcode.TEXT:
                raise StreamBroken("the peer sent text over a WebSocket that carries bytes")
            case Opcode.PONG:
                pass

    async def _send(self, frame: Frame) -> None:
        # A mask must be unpredictable, so that no page can forge requests through a proxy; it is no secret.
        async with self._sending:
            await self._under.write(websocket.encode(frame, os.urandom(4)))
