"""The server's side of a SPDY connection: takes the streams that a client begins.

One task writes, the caller of `run` reads; whoever uses a stream never touches the connection under it. What always
holds: when the connection ends, however it does, every stream of it ends too, and `run` returns.

Kubernetes' SPDY has no flow control of its own (see `wire.spdy.connection`): if nobody reads a stream, the session
stops reading when enough is waiting, and with it all other streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from nagaya.apiserver.streams.byte_stream import CHUNK, ByteStream
from nagaya.wire.bell import Bell
from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.connection import Ended, Event, Opened, Received, SpdyConnection, WasReset
from nagaya.wire.spdy.frames import ResetStatus
from nagaya.wire.spdy.headers import Headers

_FRAME: Final = 32 * 1024
_WAITING: Final = 256 * 1024  # bytes, of each stream or to be sent, from which on the other side has to wait
_ANSWERS: Final = 2 * _WAITING  # bytes to be sent: so many only if the client pings or opens streams without reading
_FAREWELL: Final = 1.0  # seconds for the last frames

Accept = Callable[["SpdyStream"], bool]
"""Is given each stream that the client begins, and says whether it is taken."""


class SpdyStream:
    """A stream that the client began."""

    def __init__(self, session: SpdySession, number: int, headers: Headers) -> None:
        self._session = session
        self.number = number
        self.headers = headers
        self.ended = False  # the client sends no more
        self.lost = False  # one of the sides has thrown it away
        self.finished = False  # the server sends no more
        self.unread = bytearray()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end."""
        return await self._session.read(self, limit)

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        await self._session.write(self, data)

    async def write_eof(self) -> None:
        """Send no more."""
        await self._session.finish(self)

    async def close(self) -> None:
        """End the stream in order, whatever the client still sends."""
        with suppress(ConnectionError):
            await self._session.finish(self)

    def reset(self) -> None:
        """Throw the stream away."""
        self._session.reset(self)


class SpdySession:
    """The server's side. Owns the stream under it."""

    def __init__(self, under: ByteStream, accept: Accept) -> None:
        self._under = under
        self._accept = accept
        self._connection = SpdyConnection(client=False)
        self._streams: dict[int, SpdyStream] = {}
        self._bell = Bell()
        self._outgoing = bytearray()
        self._over = False

    async def run(self) -> None:
        """Serve until the client goes, breaks the protocol, or this is cancelled."""
        writing = asyncio.create_task(self._write(), name="SPDY writer")
        writing.add_done_callback(lambda _: self._bell.ring())
        try:
            while data := await self._under.read():
                for event in self._connection.receive(data):
                    self._take(event)
                self._wake()
                while self._is_full() and not writing.done():
                    await self._bell.wait()
        except (ConnectionError, Malformed):
            pass  # the client has gone, or is to go: there is nobody to tell
        finally:
            self._over = True
            for stream in self._streams.values():
                stream.lost = True
            self._bell.ring()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(_FAREWELL):
                    await self._under.write(bytes(self._outgoing))
            await self._under.close()

    async def read(self, stream: SpdyStream, limit: int) -> bytes:
        """Bytes of a stream, as `SpdyStream.read` has it."""
        while not stream.unread:
            if stream.ended or stream.lost:
                return b""
            await self._bell.wait()
        data = bytes(stream.unread[:limit])
        del stream.unread[:limit]
        self._connection.consumed(stream.number, len(data))
        self._wake()
        return data

    async def write(self, stream: SpdyStream, data: bytes) -> None:
        """Send bytes on a stream, as `SpdyStream.write` has it."""
        begin = 0
        while begin < len(data):
            piece = data[begin : begin + await self._room(stream)]
            self._connection.send(stream.number, piece)
            begin += len(piece)
            self._wake()

    async def finish(self, stream: SpdyStream) -> None:
        """Send no more on a stream, as `SpdyStream.write_eof` has it."""
        if not stream.finished:
            await self._room(stream)
            stream.finished = True
            self._connection.send(stream.number, b"", fin=True)
            self._wake()

    def reset(self, stream: SpdyStream) -> None:
        """Throw a stream away."""
        stream.lost = True
        stream.unread.clear()
        self._streams.pop(stream.number, None)
        self._connection.reset(stream.number)
        self._wake()

    def _is_full(self) -> bool:
        """Whether the client has to wait: somebody does not read, or the client does not read what answers it."""
        if len(self._outgoing) > _ANSWERS:
            return True
        return any(len(stream.unread) > _WAITING for stream in self._streams.values())

    def _take(self, event: Event) -> None:
        if isinstance(event, Opened):
            stream = SpdyStream(self, event.stream, event.headers)
            if self._accept(stream):
                self._streams[event.stream] = stream
                self._connection.reply(event.stream)
            else:
                self._connection.reset(event.stream, ResetStatus.REFUSED_STREAM)
            return
        known = self._streams.get(getattr(event, "stream", 0))
        match event:
            case Received(_, data) if known is not None:
                known.unread += data
            case Ended() if known is not None:
                known.ended = True
            case WasReset() if known is not None:
                known.lost = True
                self._streams.pop(known.number, None)
            case _:
                pass  # windows, pongs, a farewell, or a stream that is closed here

    async def _room(self, stream: SpdyStream) -> int:
        """How much may be sent on a stream, once that is something."""
        while True:
            if self._over or stream.lost or stream.finished or not self._connection.is_open(stream.number):
                raise BrokenPipeError("the client has closed the stream")
            room = self._connection.room(stream.number)
            if len(self._outgoing) < _WAITING and room != 0:
                return _FRAME if room is None else min(room, _FRAME)
            await self._bell.wait()

    async def _write(self) -> None:
        try:
            while True:
                while not self._outgoing:
                    await self._bell.wait()
                # What is being sent stays counted, so that writers wait for it.
                data = bytes(self._outgoing)
                await self._under.write(data)
                del self._outgoing[: len(data)]
                self._bell.ring()
        except ConnectionError:
            await self._under.close()  # so that the reader notices too

    def _wake(self) -> None:
        """Have what is to be sent sent, and whoever waits look again."""
        self._outgoing += self._connection.outgoing()
        self._bell.ring()
