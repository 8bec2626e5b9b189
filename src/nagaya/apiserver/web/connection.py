"""One connection, and what a client can make the server hold through it.

The HTTP library leaves a few doors open that are closed here: a client that never finishes its headers, one whose
headers have no end, and one that does not read what it asked for. All three lose their connection, and nothing else
happens: what strangers send is no reason for a traceback in the log.

Requests that a client sends before it has its answer stay unread: parsed, each byte of them can take fifty of memory.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from aiohttp.web_protocol import RequestHandler

from nagaya.apiserver.streams.byte_stream import CHUNK
from nagaya.apiserver.web.gate import Seat
from nagaya.apiserver.web.heap import Heap
from nagaya.apiserver.web.limits import KIB, STRANGERS, Budget, Limits
from nagaya.wire.bell import Bell

if TYPE_CHECKING:
    from aiohttp.streams import StreamReader

HEAD_LIMIT: Final = 1024 * 1024  # request line and headers, as in Go
MOST_HEADERS: Final = 4096
_TOO_MANY_HEADERS: Final = "Too many headers received"  # the library's words for it
ORDINARY: Final = 16 * KIB  # bytes that are not complete requests yet; more count as held by strangers
_PIECE: Final = 16 * KIB  # parsed at once
BUFFERS: Final = 256 * KIB  # of memory that a connection takes, mostly for TLS
_TLS_COPIES: Final = 3  # of the longest piece that has come at once, which a TLS connection keeps until its end
_AHEAD: Final = 64 * KIB  # bytes of further requests, from which on the client has to wait for its answer
SERVER: Final = "nagaya"  # in place of the versions of our tools, which are nobody's business
_UNREAD: Final = 256 * 1024  # bytes of a connection that was taken over, from which on the client has to wait
_SLOWEST: Final = 1024  # bytes a second that a client has to read while the server waits for it


Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that clients get."""

    handshake: float = 32.0
    head: float = 32.0  # for the request line and the headers, from the first byte or, on a new connection, its start
    body: float = 60.0  # as long as a request may take, for clients behind slow links
    # The real server's 90 s and a little: Go's clients keep idle connections for 90 s as well, and if the server is the
    # first to close, a request that is just being sent is lost.
    idle: float = 95.0
    unread: float = 30.0  # for reading on when the server cannot send more
    linger: float = 0.5  # for reading the last answer of a connection, as in Go
    stop: float = 2.0  # for answers under way when the server stops


class Connection(RequestHandler):
    """The server's side of one connection."""

    __slots__ = (
        "_ahead",
        "_body_size",
        "_burst",
        "_discard",
        "_head_size",
        "_head_timer",
        "_held",
        "_last_payload",
        "_limits",
        "_patience",
        "_serving",
        "_taken",
        "_unread_timer",
        "budget",
        "heap",
        "peer_certificate",
        "seat",
    )

    def __init__(self, server: Server, seat: Seat, loop: asyncio.AbstractEventLoop) -> None:
        patience = server.patience
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=patience.idle,
            max_line_size=HEAD_LIMIT,
            max_field_size=HEAD_LIMIT,
            max_headers=MOST_HEADERS,
            lingering_time=patience.linger,
            auto_decompress=False,  # no client compresses, and a small body that grows is a way to do harm
            access_log=None,  # type: ignore[arg-type]  # the library takes None, and says so only in its documentation
        )
        self._patience = patience
        self._limits = server.limits
        self.budget = server.budget
        self.heap = server.heap
        self.seat = seat
        self._head_size = self._held = self._body_size = self._burst = 0
        self._ahead = b""
        self._serving = False
        self._discard: int | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._last_payload: StreamReader | None = None
        self._taken: TakenConnection | None = None
        self.peer_certificate: bytes | None = None  # DER, verified

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake is done; a request has to come."""
        super().connection_made(transport)
        self.seat.close = self._close_now
        session: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        if session is not None and session.context.verify_mode is not ssl.CERT_NONE:
            self.peer_certificate = session.getpeercert(binary_form=True)
        self._expect_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client has gone, or was sent away."""
        self._ahead, self._burst = b"", 0
        self._head_done()
        self.resumed()
        self.seat.leave()
        self.heap.freed(BUFFERS)
        if self._taken is not None:
            self._taken.lost()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, up to the end of a request: what comes after it waits for the answer."""
        if self._taken is not None:
            self._taken.feed(data)
            return
        if not data:  # the library goes on where it had stopped, which may begin a request whose body has to follow
            self._parse(data)
            if self._ahead and not self._is_complete():
                self._loop.call_soon(self._catch_up)
        elif self._ahead:  # what came before is parsed first
            self._wait(data)
        else:
            self._read(data)

    def _read(self, data: bytes) -> None:
        if len(data) > max(self._burst, ORDINARY):
            self._burst = len(data)
            if not self.hold():
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                return
        for start in range(0, len(data), _PIECE):
            if self._serving and self._is_complete():
                self._wait(data[start:])
                return
            self._parse(data[start : start + _PIECE] if len(data) > _PIECE else data)

    def _wait(self, data: bytes) -> None:
        self._ahead += data
        if not self.hold():
            self._close_now()
        elif len(self._ahead) > _AHEAD and not self._buffer_paused:
            self._pause_reading_for_buffer()

    def served(self) -> None:
        """The answer to a request is ready. When there is no other request, the next one may be read."""
        self.seat.busy = False
        self._serving = bool(self._messages)
        if self._ahead and not self._serving:
            self._loop.call_soon(self._catch_up)

    def _catch_up(self) -> None:
        data, self._ahead = self._ahead, b""
        if self.transport is not None:
            self._read(data)
            self.hold()
            if self._buffer_paused:
                self._resume_reading_if_drained()

    def _resume_reading_if_drained(self) -> None:
        if len(self._ahead) <= _AHEAD:
            super()._resume_reading_if_drained()
        else:
            self.data_received(b"")  # more of what the library has put aside, and nothing from the client

    @property
    def is_upgraded(self) -> bool:
        """Whether the client has asked for another protocol than HTTP."""
        return self._upgraded

    def discard(self, most: int) -> None:
        """The rest of the body is not wanted: read a little of it, so that the client sees the answer, and stop."""
        self._discard = most

    def _is_complete(self) -> bool:
        """Whether the last request that was parsed has its body."""
        return self._last_payload is None or self._last_payload.is_eof()

    def _parse(self, data: bytes) -> None:
        """Hand bytes to the library, and keep count of a head or body that is not complete yet."""
        in_head = self._is_complete() and not self._upgraded
        before = self._request_count
        super().data_received(data)
        if self._request_count != before:
            self._head_done()
            self._serving = self.seat.busy = True
            self._body_size = 0
            self._discard = None
            if self._messages:
                self._last_payload = self._messages[-1][1]
        elif in_head and data:
            self._head_size += len(data)
            if self._head_size > HEAD_LIMIT or not self.hold():
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            elif self._head_timer is None:
                self._expect_head()
        elif data:
            self._count_body(len(data))

    def hold(self) -> bool:
        """Count, among what strangers hold, the part of a head and of further requests that is longer than usual, and
        the buffers of a connection without a user. False if they hold too much."""
        size = max(0, self._head_size + len(self._ahead) - ORDINARY)
        if not self.seat.user:
            size += _TLS_COPIES * self._burst
        if size > self._held and not self.budget.take(STRANGERS, size - self._held):
            return False
        if size < self._held:
            self.budget.give(STRANGERS, self._held - size)
        self._held = size
        return True

    def _count_body(self, size: int) -> None:
        """Bound what a body takes on the wire, with the borders of its chunks and what follows them."""
        self._body_size += size
        if self._discard is not None:
            self._discard -= size
            if self._discard < 0 and not self._buffer_paused:
                self._pause_reading_for_buffer()
        elif self._body_size > 2 * self._limits.body + HEAD_LIMIT:
            self._close_now()

    def _expect_head(self) -> None:
        self._head_timer = self._loop.call_later(self._patience.head, self._give_up)

    def _head_done(self) -> None:
        self._head_size = 0
        self.hold()
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        """The head has not come in time. Go says nothing in this case either."""
        self._head_timer = None
        self._close_now()

    def _refuse(self, status: HTTPStatus) -> None:
        if self._waiter is not None and self.transport is not None:  # else an answer is under way
            text = f"{status.value} {status.phrase}"
            head = f"HTTP/1.1 {text}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
            self.transport.write((head + text).encode())
        self.force_close()

    def take_over(self) -> TakenConnection:
        """Speak no more HTTP: what comes from now on, and what has come since the head, is for the caller.

        To be called before the head of the answer is sent: a client waits for that and then goes on at once.
        """
        assert self.transport is not None
        self._taken = TakenConnection(self, self.transport)
        early, self._message_tail, self._ahead = self._message_tail + self._ahead, b"", b""
        if early:
            self._taken.feed(early)
        return self._taken

    async def caught_up(self) -> None:
        """Wait until the client has read enough of what was sent. Raises ConnectionError if it has gone."""
        if self._paused:
            await self._drain_helper()

    def send_part(self, part: bytes, *, chunked: bool) -> Awaitable[None] | None:
        """Send a part of an answer whose head is sent. The result is to be awaited if the client has to catch up.

        The library's own way takes several times as long, which shows when a thousand clients watch the same objects.
        Raises ConnectionError if the client has gone.
        """
        transport = self.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")
        transport.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
        return self._drain_helper() if self._paused else None

    def pause_writing(self) -> None:
        """The client reads more slowly than the server sends."""
        super().pause_writing()
        if self.transport is not None:
            self._watch_reader(self.transport, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client has caught up."""
        super().resume_writing()
        self.resumed()

    def resumed(self) -> None:
        """Stop to watch whether the client reads."""
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _watch_reader(self, transport: asyncio.Transport, unread: int) -> None:
        self._unread_timer = self._loop.call_later(self._patience.unread, self._judge_reader, transport, unread)

    def _judge_reader(self, transport: asyncio.Transport, before: int) -> None:
        """Drop a client that has taken next to nothing since the last look."""
        unread = transport.get_write_buffer_size()
        if before - unread < _SLOWEST * self._patience.unread:
            self._unread_timer = None
            self._close_now(transport)
        else:
            self._watch_reader(transport, unread)

    def _close_now(self, transport: asyncio.Transport | None = None) -> None:
        transport = transport or self.transport
        if transport is not None:
            transport.abort()
        self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is not HTTP in Go's words. Only mistakes of the server itself are logged."""
        if not isinstance(exc, HttpProcessingError):
            return super().handle_error(request, status, exc, message)
        kind = HTTPStatus.BAD_REQUEST
        if isinstance(exc, LineTooLong) or exc.message == _TOO_MANY_HEADERS:
            kind = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        return refusal(kind)


class TakenConnection:
    """The bytes of a connection that no longer speaks HTTP, as a stream."""

    def __init__(self, connection: Connection, transport: asyncio.Transport) -> None:
        self._connection = connection
        self._transport = transport
        self._bell = Bell()
        self._unread = bytearray()
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Bytes have come."""
        self._unread += data
        if len(self._unread) > _UNREAD:
            self._transport.pause_reading()
        self._bell.ring()

    def lost(self) -> None:
        """The client has gone."""
        self._ended = True
        self._bell.ring()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none when the client has gone."""
        while not self._unread:
            if self._ended:
                return b""
            await self._bell.wait()
        data = bytes(self._unread[:limit])
        del self._unread[:limit]
        if len(self._unread) <= _UNREAD and not self._ended:
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        if self._ended or self._transport.is_closing():
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        await self._connection.caught_up()

    async def write_eof(self) -> None:
        """Send no more, where the connection can say so."""
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    async def close(self) -> None:
        """Close the connection, once what was written has been sent."""
        self.lost()
        self._transport.close()


class Server(web.Server):
    """Makes connections and knows those that are open."""

    def __init__(self, handle: Handle, patience: Patience, limits: Limits) -> None:
        super().__init__(handle, handler_cancellation=True)
        self.patience = patience
        self.limits = limits
        self.budget = Budget(limits)
        self.heap = Heap()

    def connect(self, seat: Seat) -> Connection:
        """A client has connected, and has got a place."""
        return Connection(self, seat, self._loop)


def refusal(status: HTTPStatus) -> web.Response:
    """The answer to what cannot be read, in Go's words. It ends the connection."""
    answer = web.Response(status=status, text=f"{status.value} {status.phrase}", headers={"Server": SERVER})
    answer.force_close()
    return answer
