"""The wire: TLS connections in, requests through the handler, answers and streams out.

Only this module, `connection` and `incoming` know the HTTP library. What a client can make the server hold is bounded:
heads of 1 MiB and bodies of 3 MiB as in the real server, time for everything (`Patience`), connections (`Gate`), and
the bytes of all requests and answers together (`Budget`). Connections share nothing else, so what one client does or
fails to do never keeps another waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from nagaya.apiserver.meta import status
from nagaya.apiserver.watchdog import Watched
from nagaya.apiserver.web.compression import compress
from nagaya.apiserver.web.connection import BUFFERS, SERVER, Connection, Patience, Server, refusal
from nagaya.apiserver.web.gate import Gate, Seat
from nagaya.apiserver.web.handler import error_response
from nagaya.apiserver.web.incoming import Incoming
from nagaya.apiserver.web.limits import KIB, Limits
from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request, Response, parse_query

log = logging.getLogger(__name__)

PATH_LIMIT: Final = 8 * KIB  # several times the longest path that leads to anything
_PIECE: Final = 64 * KIB  # longer answers are handed to the connection bit by bit, as the client reads them
_BACKLOG: Final = 1024
_AT_ONCE: Final = 16  # connections accepted before others have their turn
_STRANGERS_AT_ONCE: Final = 8  # requests on connections without a user that begin in one pass of the event loop
_AGAIN: Final = 1.0  # seconds until the next attempt when connections cannot be accepted
_CLOSING: Final = 0.05  # seconds for a connection to be closed, and its descriptor to be free
_RESET: Final = struct.pack("ii", 1, 0)  # close without waiting for anything
_NO_RESOURCES: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")

Serve = Callable[[Request], Awaitable[Response]]


class Listener:
    """One listening socket."""

    def __init__(
        self,
        serve: Serve,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        patience: Patience | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._serve = serve
        self._sock = sock
        self._tls = tls
        self._patience = patience or Patience()
        self._limits = limits or Limits()
        self.gate = Gate(self._limits)
        self._connections: Server | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._opening: set[asyncio.Task[None]] = set()
        self._streams: set[asyncio.Future[None]] = set()
        self._turns = asyncio.Semaphore(_STRANGERS_AT_ONCE)
        self._port: int = sock.getsockname()[1]

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return 0 if self._connections is None else len(self._connections.connections)

    @property
    def bytes_in_flight(self) -> int:
        """How many bytes of requests and answers are in memory, as far as they are counted."""
        return 0 if self._connections is None else self._connections.budget.total

    async def start(self) -> None:
        """Accept connections."""
        self._connections = Server(self._handle, self._patience, self._limits)
        self._sock.setblocking(False)
        self._sock.listen(_BACKLOG)
        self._accepting = asyncio.create_task(self._accept(self._connections), name=f"accept {self._port}")

    async def stop(self) -> None:
        """Stop accepting, end the streams as if they were complete, let answers under way finish."""
        if self._accepting is None or self._connections is None:
            return
        self._accepting.cancel()
        await asyncio.wait([self._accepting])
        self._sock.close()
        for task in (*self._opening, *self._streams):
            task.cancel()
        self._connections.heap.close()
        self._connections.pre_shutdown()
        # The library waits twice: for answers, and then for those that did not come to be cancelled.
        await self._connections.shutdown(self._patience.stop / 2)

    async def _accept(self, server: Server) -> None:
        loop = asyncio.get_running_loop()
        accepted = 0
        while True:
            try:
                sock, peer = await loop.sock_accept(self._sock)
            except ConnectionError:
                await asyncio.sleep(0)  # this one client has gone meanwhile
                continue
            except OSError as error:
                made_room = error.errno in _NO_RESOURCES and self.gate.make_room()
                if not made_room:
                    log.warning("cannot accept connections: %s. Trying again in %g s", error, _AGAIN)
                await asyncio.sleep(_CLOSING if made_room else _AGAIN)
                continue
            seat = self.gate.enter(peer[0])
            if seat is None:
                with contextlib.suppress(OSError):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                sock.close()
            else:
                opening = asyncio.ensure_future(self._open(server, sock, seat))
                seat.close = opening.cancel
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)
            accepted += 1
            if accepted % _AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _open(self, server: Server, sock: socket.socket, seat: Seat) -> None:
        encrypted = self._tls is not None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: server.connect(seat),
                sock,
                ssl=self._tls,
                ssl_handshake_timeout=self._patience.handshake if encrypted else None,
                ssl_shutdown_timeout=self._patience.linger if encrypted else None,
            )
        except BaseException as error:
            server.heap.freed(BUFFERS)
            seat.leave()
            sock.close()
            if not isinstance(error, OSError):  # else the client has gone, or does not speak TLS
                raise

    async def _handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        connection = raw.protocol
        assert isinstance(connection, Connection)
        connection.seat.busy = True
        if not connection.seat.user:
            await self._turns.acquire()
            asyncio.get_running_loop().call_soon(self._turns.release)
        incoming = Incoming(raw, connection, self._limits, self._patience)
        try:
            return await self._answer(raw, connection, incoming)
        finally:
            incoming.done()
            connection.served()

    async def _answer(self, raw: web.BaseRequest, connection: Connection, incoming: Incoming) -> web.StreamResponse:
        path = raw.raw_path.partition("?")[0]
        if len(path) > PATH_LIMIT:
            return refusal(HTTPStatus.REQUEST_URI_TOO_LONG)
        if _BAD_ESCAPE.search(path):
            return refusal(HTTPStatus.BAD_REQUEST)
        request = _head(raw, connection)
        request.source = incoming
        try:
            incoming.hold_head()
            response = await self._serve(request)
        except status.ApiError as error:
            response = error_response(request, error)
        if response.upgrade is not None:
            return await self._upgrade(raw, connection, response)
        if response.stream is not None:
            return await self._stream(raw, connection, response, incoming)
        await compress(request, response)
        if len(response.body) <= _PIECE or raw.method == "HEAD":
            answer = web.Response(status=response.status, body=response.body, headers=_headers(response))
            incoming.finish(answer)
            return answer
        return await _in_pieces(raw, response, incoming)

    async def _stream(
        self, raw: web.BaseRequest, connection: Connection, response: Response, incoming: Incoming
    ) -> web.StreamResponse:
        assert response.stream is not None
        answer = web.StreamResponse(status=response.status, headers=_headers(response))
        incoming.finish(answer)
        chunked = raw.version >= HttpVersion11
        if chunked:
            answer.enable_chunked_encoding()
        else:
            answer.force_close()  # the end of the connection is the only end that such a client knows
        try:
            await answer.prepare(raw)
        except ConnectionError:  # the client has gone before it was answered; there is nobody to tell
            await ended(response.stream)
            return answer
        await self._until_done(_pump(connection, response.stream, chunked=chunked), response)
        with contextlib.suppress(ConnectionError):  # the client has gone; there is nobody to tell
            await answer.write_eof()
        return answer

    async def _upgrade(self, raw: web.BaseRequest, connection: Connection, response: Response) -> web.StreamResponse:
        assert response.upgrade is not None
        answer = web.StreamResponse(
            status=response.status, headers=CIMultiDict([("Server", SERVER), *response.headers])
        )
        answer.force_close()  # nothing of HTTP can follow
        taken = connection.take_over()
        try:
            await answer.prepare(raw)
            await self._until_done(response.upgrade.serve(taken), response)
        finally:
            await taken.close()
        return answer

    async def _until_done(self, work: Coroutine[None, None, None], response: Response) -> None:
        """Wait for something that ends when the listener does. Raises what it raises."""
        task = asyncio.ensure_future(Watched(work, response.exchange) if response.exchange is not None else work)
        self._streams.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._streams.discard(task)
            task.cancel()
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


async def _pump(connection: Connection, stream: AsyncIterator[bytes], *, chunked: bool) -> None:
    try:
        async for part in stream:
            if (full := connection.send_part(part, chunked=chunked)) is not None:
                await full
    except ConnectionError:
        return  # the client has gone; there is nobody to tell
    finally:
        await ended(stream)


def _head(raw: web.BaseRequest, connection: Connection) -> Request:
    target = raw.raw_path
    if not target.startswith("/"):  # with scheme and host, as to a proxy
        target = str(raw.rel_url)
    path, _, query = target.partition("?")
    items = tuple((name.lower(), value) for name, value in raw.headers.items())
    headers: dict[str, str] = {}
    for name, value in items:
        headers.setdefault(name, value)
    certificate = connection.peer_certificate
    return Request(raw.method, unquote(path), parse_query(query), headers, b"", items, certificate, raw.remote or "")


async def _in_pieces(raw: web.BaseRequest, response: Response, incoming: Incoming) -> web.StreamResponse:
    answer = web.StreamResponse(status=response.status, headers=_headers(response))
    answer.content_length = len(response.body)
    incoming.finish(answer)
    await answer.prepare(raw)
    whole = memoryview(response.body)
    for start in range(0, len(whole), _PIECE):
        await answer.write(whole[start : start + _PIECE])
    await answer.write_eof()
    return answer


def _headers(response: Response) -> CIMultiDict[str]:
    return CIMultiDict([("Content-Type", response.content_type), ("Server", SERVER), *response.headers])
