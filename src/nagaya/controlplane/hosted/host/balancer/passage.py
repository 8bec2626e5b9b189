"""The two connections that belong together: a client's, and the one to an API server."""

from __future__ import annotations

import asyncio
import socket
from typing import Protocol

from . import goodbye
from .client_hello import offers_http2
from .goodbye import Talk

PATIENCE = 5.0
"""Seconds that an API server has to close a connection, when it has been told that the client has gone."""
LINGER = 5.0
"""Seconds that a client has to close its connection after the end of it."""
AGAIN = 0.5
"""Seconds until a connection is looked at again that cannot be ended because one of the two does not keep up."""
GREETING = 0.5
"""Seconds that an HTTP/2 client has to complete the greeting of TLS before it is stopped. An API server closes
connections that do not get on with it, which clients take for a failure."""
MOST_PIECES = 64
"""Packets in which a client may say what it speaks. Nobody needs more than a few."""
MOST_HELD = 1 << 19
"""Bytes of an answer that are held back at most."""
TAIL = 128
"""Last bytes of a connection, which leave in one packet with its end. They contain the last byte of the answer: behind
it there is only the alert with which TLS ends, of 24 to 85 bytes."""


class Owner(Protocol):
    """Who counts connections (`Backend`)."""

    stops_http2: bool

    @property
    def leaving(self) -> bool: ...

    def has_answered_since(self, moment: float) -> bool: ...
    def entered(self, passage: Passage) -> None: ...
    def left(self, passage: Passage) -> None: ...


class Side(asyncio.Protocol):
    """One of the two connections. Nothing is read from it before it has its other side."""

    def __init__(self) -> None:
        self.passage: Passage | None = None
        self.closed = False
        self.full = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        if self.passage is not None:
            self.passage.said(self, data)

    def eof_received(self) -> bool:
        return self.passage is not None and self.passage.said_all(self)

    def pause_writing(self) -> None:
        self.full = True
        if self.passage is not None:
            self.passage.other(self).read(False)

    def resume_writing(self) -> None:
        self.full = False
        if self.passage is not None:
            self.passage.resume(self.passage.other(self))

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self.passage is not None:
            self.passage.lost(self)

    def read(self, on: bool) -> None:
        """Go on or stop to listen."""
        if self._transport is not None and not self._transport.is_closing():
            if on:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def write(self, data: bytes) -> None:
        """Say something."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        """Say that this was all."""
        if self._transport is not None and not self._transport.is_closing():
            try:
                self._transport.write_eof()
            except OSError:
                self._transport.abort()  # the other end has gone, which was not noticed yet

    def write_last(self, data: bytes) -> None:
        """Send the end of an answer and the end of the connection. No client receives the one without the other, unless
        this process gets no processor time in between for 200 ms: then the kernel sends what it holds back (TCP_CORK in
        tcp(7))."""
        if self._transport is None or self._transport.is_closing():
            return
        if data:
            self._transport.write(data[:-TAIL])
            # The tail waits in the kernel for the end.
            self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            self._transport.write(data[-TAIL:])
        self.write_eof()

    def close(self) -> None:
        """Hang up, after what is still to be written."""
        if self._transport is not None and not self.closed:
            self._transport.close()

    def abort(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()


class Passage:
    """Passes on what either side says, and ends when it is time to."""

    def __init__(self, backend: Owner, client: Side, server: Side) -> None:
        self._backend = backend
        self._client = client
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._talk = Talk(self._loop.time())
        self._greeting: bytes | None = b""
        self._pieces = 0
        self._leaving = False
        self._leaving_since = 0.0
        self._answered_at: float | None = None
        self._held = b""
        self._ending = False
        self._over = False
        self._client_is_stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self.http2 = False

    @property
    def is_busy(self) -> bool:
        """Whether the client waits for an answer, or has not taken what it was sent."""
        return self._talk.is_waiting or self._client.full

    def is_left_to_server(self, limit: float) -> bool:
        """Whether there was no opportunity to end this for so many seconds, because an answer is not complete. A client
        that waits for its answer gets the same time once more from the first answer on."""
        now = self._loop.time()
        if self.is_busy:
            return now >= self._leaving_since + limit
        is_stream = now < self._talk.last + goodbye.IDLE
        return is_stream and self._answered_at is not None and now >= self._answered_at + limit

    def begin(self) -> None:
        """Listen to both."""
        self._client.passage = self._server.passage = self
        self._backend.entered(self)
        for side in (self._client, self._server):
            if side.closed:
                self.lost(side)
            else:
                side.read(True)
        self.leave(self._backend.leaving)

    def other(self, side: Side) -> Side:
        """The one that a side belongs to."""
        return self._server if side is self._client else self._client

    def resume(self, side: Side) -> None:
        """Read from a side again, as far as nothing else speaks against that."""
        if side is self._server or not self._client_is_stopped:
            side.read(True)

    def stop_client(self, stopped: bool) -> None:
        """Stop reading from the client, or go on. What the API server says is passed on in either case."""
        if self._over:
            return
        self._client_is_stopped = stopped
        if stopped:
            self._client.read(False)
        elif not self._server.full:
            self._client.read(True)

    def said(self, side: Side, data: bytes) -> None:
        """Pass it on, unless it is the end of an answer that shall be the last."""
        now = self._loop.time()
        if side is self._client:
            if self._ending:
                return  # there is nobody any more who could answer
            if self._greeting is not None:
                self._listen(self._greeting + data)
            self._talk.client_spoke(now)
            self._release()
            self._server.write(data)
            return
        self._talk.server_spoke(len(data), now)
        self._note_answer(now)
        if self._ending and len(self._held) + len(data) <= MOST_HELD:
            self._held += data
            return
        self._release()
        if self._leaving and not self.http2 and self._talk.is_answer:
            self._held = data
        else:
            self._client.write(data)
        self._watch()

    def said_all(self, side: Side) -> bool:
        """A client that has said all may still wait for its answer; an API server that has said all is done."""
        if side is self._server:
            self._end()
            return False
        if self._ending:
            return False
        self._release()
        self._server.write_eof()
        return True

    def lost(self, side: Side) -> None:
        """A connection is gone."""
        if side is self._server:
            self._backend.left(self)
            self._end()
            return
        if self._timer is not None:
            self._timer.cancel()
        self._ending = self._over = True
        self._server.close()

    def leave(self, leaving: bool) -> None:
        """Whether this shall end at the next opportunity."""
        self._leaving, self._leaving_since, self._answered_at = leaving, self._loop.time(), None
        if leaving:
            self._note_answer(self._leaving_since)
            self._watch()
        elif not self._ending:
            self._release()

    def _listen(self, greeting: bytes) -> None:
        # Each look begins at the start, so a greeting that comes byte by byte would cost the square of its length.
        self._pieces += 1
        offered = offers_http2(greeting) if self._pieces <= MOST_PIECES else False
        self._greeting = greeting if offered is None else None
        self.http2 = bool(offered)
        if self.http2 and self._backend.stops_http2:
            self._loop.call_later(GREETING, lambda: self.stop_client(self._backend.stops_http2))

    def _note_answer(self, now: float) -> None:
        """Remember when the client did not wait for an answer for the first time since this shall end. Later answers do
        not count: some clients always have the next one."""
        if self._leaving and self._answered_at is None and not self._talk.is_waiting:
            self._answered_at = now

    def _release(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._client.write(held)

    def _watch(self) -> None:
        """End it as soon as it can be: now, or when nothing was said for long enough."""
        if not self._leaving or self._ending or self.http2:
            return
        if self._timer is not None:
            self._timer.cancel()
        due, now = self._talk.ends_at(bool(self._held)), self._loop.time()
        if due is None:
            return  # the answer starts it again
        if not self._backend.has_answered_since(self._talk.last):
            due = max(due, now + AGAIN)  # the API server may be silent because it has no processor
        if self._client.full:
            due = max(due, now + AGAIN)  # the API server is silent because nobody listens to it
        if due > now:
            self._timer = self._loop.call_at(due, self._watch)
            return
        self._ending = True
        self._server.write_eof()
        self._timer = self._loop.call_later(PATIENCE, self._server.close)

    def _end(self) -> None:
        """The API server has said all: the client gets what was held back, and the end with it."""
        if self._over:
            return
        self._ending = self._over = True
        if self._timer is not None:
            self._timer.cancel()
        held, self._held = self._held, b""
        self._client.write_last(held)
        # A connection that is closed with unread bytes is reset, and the client would lose what it was sent last.
        self._client_is_stopped = False
        self._client.read(True)
        self._timer = self._loop.call_later(LINGER, self._client.close)
