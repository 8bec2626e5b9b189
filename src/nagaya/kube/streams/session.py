"""A SPDY connection at work: one task reads, one writes, one looks for signs of life.

Whoever uses a stream never touches the connection under it, so that cancelling one of them hurts no other. What always
holds: once the session has failed, every call on any of its streams raises the reason at once; nothing hangs.

Kubernetes' SPDY has no flow control of its own (see `wire.spdy.connection`): if the user of one stream does not read,
the session stops reading when enough is waiting, and with it all its other streams. Streams that must not wait for each
other need sessions of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from nagaya.kube.streams.stream import CHUNK, Stream, StreamBroken
from nagaya.wire.bell import Bell
from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.connection import (
    Ended,
    Event,
    GoneAway,
    Received,
    Replied,
    SpdyConnection,
    WasReset,
)
from nagaya.wire.spdy.headers import Headers

log = logging.getLogger(__name__)

PING_INTERVAL: Final = 10.0  # seconds; as kubectl does, for load balancers that forget what is silent
SILENCE: Final = 30.0  # seconds: three pings, as a stream that is not read delays the answer to one of five
_FAREWELL: Final = 1.0  # seconds for the last frames
_FRAME: Final = 32 * 1024
_WAITING: Final = 256 * 1024  # bytes, of each stream or to be sent, from which on the other side has to wait
_FLOOD: Final = 256 * 1024  # bytes of answers to pings and the like that wait to be read


class SpdyStream:
    """A stream of a session."""

    def __init__(self, session: SpdySession, number: int) -> None:
        self._session = session
        self.number = number
        self.replied = False
        self.ended = False  # the peer sends no more
        self.reset_status: int | None = None  # the peer threw it away
        self.finished = False  # we send no more
        self.closed = False  # we threw it away
        self.unread = bytearray()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none when the peer has ended or reset the stream. Raises StreamBroken."""
        return await self._session.read(self, limit)

    async def write(self, data: bytes) -> None:
        """Send bytes. Raises StreamBroken."""
        await self._session.write(self, data)

    async def write_eof(self) -> None:
        """Send no more. Raises StreamBroken."""
        await self._session.finish(self)

    def reset(self) -> None:
        """Throw the stream away."""
        self._session.reset(self)


class SpdySession:
    """The client's side. Owns the stream under it."""

    def __init__(
        self,
        under: Stream,
        *,
        ping_interval: float = PING_INTERVAL,
        silence: float = SILENCE,
        idle_timeout: float | None = None,
    ) -> None:
        """Times in seconds. `silence` is how long nothing may come, pings being answered; `idle_timeout` how long no
        stream may carry anything. To be made within the loop that runs it."""
        self._under = under
        self._ping_interval = ping_interval
        self._silence = silence
        self._idle_timeout = idle_timeout
        self._connection = SpdyConnection(client=True)
        self._streams: dict[int, SpdyStream] = {}
        self._bell = Bell()
        self._outgoing = bytearray()
        self._owed = 0  # bytes that answer frames of the other side, and that it has not read
        self._sending = 0  # how many of those are being sent
        self._failure: StreamBroken | None = None
        self._gone_away = False
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._used_at = self._loop.time()
        self._tasks = [
            self._loop.create_task(self._guarded(work), name=f"SPDY {name}")
            for name, work in (("reader", self._read), ("writer", self._write), ("watch", self._watch))
        ]

    async def open(self, headers: Headers) -> SpdyStream:
        """Begin a stream and wait until the peer has accepted it. Raises StreamBroken."""
        self._check()
        if self._gone_away:
            raise StreamBroken("the peer takes no more streams")
        stream = SpdyStream(self, self._connection.open(headers))
        self._streams[stream.number] = stream
        self._wake()
        try:
            while not stream.replied and stream.reset_status is None:
                await self._changed()
        except BaseException:
            self.reset(stream)
            raise
        if not stream.replied:
            self.reset(stream)
            raise StreamBroken(f"the peer refused a stream (SPDY status {stream.reset_status})")
        return stream

    async def read(self, stream: SpdyStream, limit: int) -> bytes:
        """Bytes of a stream, as `SpdyStream.read` has it."""
        while not stream.unread:
            if stream.closed:
                raise StreamBroken("the stream has been closed")
            if stream.ended or stream.reset_status is not None:
                return b""
            await self._changed()
        data = bytes(stream.unread[:limit])
        del stream.unread[:limit]
        self._connection.consumed(stream.number, len(data))
        self._wake()
        return data

    async def write(self, stream: SpdyStream, data: bytes) -> None:
        """Send bytes on a stream, as `SpdyStream.write` has it."""
        begin = 0
        while begin < len(data):
            room = await self._room(stream)
            piece = data[begin : begin + room]
            self._connection.send(stream.number, piece)
            begin += len(piece)
            self._used_at = self._loop.time()
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
        stream.closed = True
        stream.unread.clear()
        self._streams.pop(stream.number, None)
        self._connection.reset(stream.number)
        self._wake()

    async def close(self) -> None:
        """End all streams and let go of the connection."""
        farewell = b""
        if self._failure is None:
            for stream in list(self._streams.values()):
                self.reset(stream)
            self._connection.go_away()
            self._wake()
            self._fail(StreamBroken("the session has been closed"))
            farewell = b"" if self._sending else bytes(self._outgoing)
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if farewell:
                async with asyncio.timeout(_FAREWELL):
                    await self._under.write(farewell)
        except (StreamBroken, TimeoutError):
            pass  # a courtesy: the end of the connection says the same
        finally:
            await self._under.close()

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (StreamBroken, Malformed) as error:
            self._fail(error if isinstance(error, StreamBroken) else StreamBroken(str(error)))
        except Exception as error:
            # A fault of ours: those who wait for a stream must learn of it all the same.
            log.exception("SPDY session: unexpected")
            self._fail(StreamBroken(f"unexpected: {type(error).__name__}: {error}"))

    async def _read(self) -> None:
        while data := await self._under.read():
            self._heard_at = self._loop.time()
            for event in self._connection.receive(data):
                self._take(event)
            before = len(self._outgoing)
            self._wake()
            self._owed += len(self._outgoing) - before
            if self._owed > _FLOOD:
                raise StreamBroken("the peer sends pings without end, and reads no answers")
            while self._is_stuck():
                await self._bell.wait()
        raise StreamBroken("the peer ended the connection")

    async def _write(self) -> None:
        while True:
            while not self._outgoing:
                await self._bell.wait()
            # What is being sent stays counted, so that writers wait for it.
            data = bytes(self._outgoing)
            self._sending = len(data)
            await self._under.write(data)
            self._sending = 0
            del self._outgoing[: len(data)]
            if not self._outgoing:
                self._owed = 0
            self._bell.ring()

    async def _watch(self) -> None:
        pause = min(self._ping_interval, self._idle_timeout or self._ping_interval)
        while True:
            await asyncio.sleep(pause)
            now = self._loop.time()
            if now - self._heard_at >= self._silence and not self._is_stuck():
                raise StreamBroken(f"the peer was silent for {now - self._heard_at:.0f} s")
            if self._idle_timeout is not None and now - self._used_at >= self._idle_timeout:
                raise StreamBroken(f"nothing was sent or received for {now - self._used_at:.0f} s")
            self._connection.ping()
            self._wake()

    def _is_stuck(self) -> bool:
        """Whether nothing is heard because nothing is read here."""
        return any(len(stream.unread) > _WAITING for stream in self._streams.values())

    def _take(self, event: Event) -> None:
        if isinstance(event, GoneAway):
            self._gone_away = True
            for each in self._streams.values():
                if each.number > event.last_stream and not each.replied:
                    each.reset_status = event.status
            return
        stream = self._streams.get(getattr(event, "stream", 0))
        match event:
            case Replied() if stream is not None:
                stream.replied = True
            case Received(_, data) if stream is not None:
                stream.unread += data
                self._used_at = self._heard_at
            case Ended() if stream is not None:
                stream.ended = True
            case WasReset(_, status) if stream is not None:
                stream.reset_status = status
            case _:
                pass  # a window that opened, a pong, or a stream that is closed here

    async def _room(self, stream: SpdyStream) -> int:
        """How much may be sent on a stream, once that is something."""
        while True:
            self._check()
            if stream.closed or stream.finished or not self._connection.is_open(stream.number):
                raise StreamBroken("the stream has been closed")
            room = self._connection.room(stream.number)
            if len(self._outgoing) < _WAITING and room != 0:
                return _FRAME if room is None else min(room, _FRAME)
            await self._bell.wait()

    async def _changed(self) -> None:
        self._check()
        await self._bell.wait()

    def _check(self) -> None:
        if self._failure is not None:
            raise StreamBroken(str(self._failure)) from self._failure

    def _wake(self) -> None:
        """Have what is to be sent sent, and whoever waits look again."""
        self._outgoing += self._connection.outgoing()
        self._bell.ring()

    def _fail(self, failure: StreamBroken) -> None:
        if self._failure is None:
            self._failure = failure
            for task in self._tasks:
                if task is not asyncio.current_task():
                    task.cancel()
            self._bell.ring()
