"""The wire: TLS connections in, requests through the handler, answers and streams out.

Only this module and `connection` know the HTTP library. What a client can make the server hold is bounded: bodies of 3
MiB as in the real server, heads of 1 MiB, and time for everything (`Patience`). Connections share nothing, so what one
client does or fails to do never keeps another waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from aiohttp import HttpVersion11, web
from aiohttp.web_protocol import RequestPayloadError
from multidict import CIMultiDict

from nagaya.apiserver.meta import status
from nagaya.apiserver.web.compression import compress
from nagaya.apiserver.web.connection import SERVER, Connection, Patience, Server, refusal
from nagaya.apiserver.web.handler import error_response
from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request, Response, parse_query

BODY_LIMIT: Final = 3 * 1024 * 1024
_PIECE: Final = 256 * 1024  # longer answers are handed to the connection bit by bit, as the client reads them
_BACKLOG: Final = 1024
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")

Serve = Callable[[Request], Awaitable[Response]]


class Listener:
    """One listening socket."""

    def __init__(
        self, serve: Serve, sock: socket.socket, tls: ssl.SSLContext | None, patience: Patience | None = None
    ) -> None:
        self._serve = serve
        self._sock = sock
        self._tls = tls
        self._patience = patience or Patience()
        self._connections: Server | None = None
        self._server: asyncio.AbstractServer | None = None
        self._streams: set[asyncio.Future[None]] = set()
        self._port: int = sock.getsockname()[1]

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return 0 if self._connections is None else len(self._connections.connections)

    async def start(self) -> None:
        """Accept connections."""
        loop = asyncio.get_running_loop()
        self._connections = Server(self._handle, self._patience)
        encrypted = self._tls is not None
        self._server = await loop.create_server(
            self._connections,
            sock=self._sock,
            ssl=self._tls,
            backlog=_BACKLOG,
            ssl_handshake_timeout=self._patience.handshake if encrypted else None,
            ssl_shutdown_timeout=self._patience.stop if encrypted else None,
        )

    async def stop(self) -> None:
        """Stop accepting, end the streams as if they were complete, let answers under way finish."""
        if self._server is None or self._connections is None:
            return
        self._server.close()
        for task in list(self._streams):
            task.cancel()
        self._connections.pre_shutdown()
        # The library waits twice: for answers, and then for those that did not come to be cancelled.
        await self._connections.shutdown(self._patience.stop / 2)

    async def _handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        if _BAD_ESCAPE.search(raw.raw_path.partition("?")[0]):
            return refusal(HTTPStatus.BAD_REQUEST)
        request = _head(raw)
        try:
            request.body = await self._body(raw)
        except status.ApiError as error:
            answer = _plain(error_response(request, error))
            answer.force_close()
            return answer
        response = await self._serve(request)
        if response.upgrade is not None:
            return await self._upgrade(raw, response)
        if response.stream is not None:
            return await self._stream(raw, response)
        await compress(request, response)
        if len(response.body) > _PIECE and raw.method != "HEAD":
            return await _in_pieces(raw, response)
        return _plain(response)

    async def _body(self, raw: web.BaseRequest) -> bytes:
        """The whole body. Raises 413 for one that is too large, 408 for one that does not come, 500 for a broken
        one.
        """
        if not raw.body_exists:
            return b""
        if (raw.content_length or 0) > BODY_LIMIT:
            raise status.too_large(f"limit is {BODY_LIMIT}")
        if raw.content.is_eof() and raw.content.exception() is None and raw.content.total_bytes <= BODY_LIMIT:
            return raw.content.read_nowait()  # it came together with the head, as most do
        if raw.headers.get("Expect", "").lower() == "100-continue" and raw.transport is not None:
            raw.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._patience.body):
                async for part in raw.content.iter_any():
                    parts.append(part)
                    size += len(part)
                    if size > BODY_LIMIT:
                        raise status.too_large(f"limit is {BODY_LIMIT}")
        except TimeoutError:
            message = f"the request's body did not arrive within {self._patience.body:.0f} s"
            raise status.ApiError(408, "Timeout", message) from None
        except RequestPayloadError as error:
            raise status.ApiError(500, "", str(error)) from None
        return b"".join(parts)

    async def _stream(self, raw: web.BaseRequest, response: Response) -> web.StreamResponse:
        answer = web.StreamResponse(status=response.status, headers=_headers(response))
        chunked = raw.version >= HttpVersion11
        if chunked:
            answer.enable_chunked_encoding()
        else:
            answer.force_close()  # the end of the connection is the only end that such a client knows
        try:
            await answer.prepare(raw)
        except ConnectionError:  # the client has gone before it was answered; there is nobody to tell
            assert response.stream is not None
            await ended(response.stream)
            return answer
        connection = raw.protocol
        assert isinstance(connection, Connection)
        await self._until_done(_pump(connection, response, chunked=chunked))
        with contextlib.suppress(ConnectionError):  # the client has gone; there is nobody to tell
            await answer.write_eof()
        return answer

    async def _upgrade(self, raw: web.BaseRequest, response: Response) -> web.StreamResponse:
        assert response.upgrade is not None
        answer = web.StreamResponse(
            status=response.status, headers=CIMultiDict([("Server", SERVER), *response.headers])
        )
        answer.force_close()  # nothing of HTTP can follow
        connection = raw.protocol
        assert isinstance(connection, Connection)
        taken = connection.take_over()
        try:
            await answer.prepare(raw)
            await self._until_done(response.upgrade.serve(taken))
        finally:
            await taken.close()
        return answer

    async def _until_done(self, work: Coroutine[None, None, None]) -> None:
        """Wait for something that ends when the listener does. Raises what it raises."""
        task = asyncio.ensure_future(work)
        self._streams.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._streams.discard(task)
            task.cancel()
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem


async def _pump(connection: Connection, response: Response, *, chunked: bool) -> None:
    assert response.stream is not None
    try:
        async for part in response.stream:
            if (full := connection.send_part(part, chunked=chunked)) is not None:
                await full
    except ConnectionError:
        return  # the client has gone; there is nobody to tell
    finally:
        await ended(response.stream)


def _head(raw: web.BaseRequest) -> Request:
    target = raw.raw_path
    if not target.startswith("/"):  # with scheme and host, as to a proxy
        target = str(raw.rel_url)
    path, _, query = target.partition("?")
    items = tuple((name.lower(), value) for name, value in raw.headers.items())
    headers: dict[str, str] = {}
    for name, value in items:
        headers.setdefault(name, value)
    connection = raw.protocol
    certificate = connection.peer_certificate if isinstance(connection, Connection) else None
    return Request(raw.method, unquote(path), parse_query(query), headers, b"", items, certificate, raw.remote or "")


def _plain(response: Response) -> web.Response:
    return web.Response(status=response.status, body=response.body, headers=_headers(response))


async def _in_pieces(raw: web.BaseRequest, response: Response) -> web.StreamResponse:
    answer = web.StreamResponse(status=response.status, headers=_headers(response))
    answer.content_length = len(response.body)
    await answer.prepare(raw)
    whole = memoryview(response.body)
    for start in range(0, len(whole), _PIECE):
        await answer.write(whole[start : start + _PIECE])
    await answer.write_eof()
    return answer


def _headers(response: Response) -> CIMultiDict[str]:
    return CIMultiDict([("Content-Type", response.content_type), ("Server", SERVER), *response.headers])
