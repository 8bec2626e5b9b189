"""The wire: TLS connections in, requests through the handler, answers and streams out.

The only module of the server that knows the HTTP library. It bounds what a client can make the server hold: bodies of 3
MiB as the real server, headers of 1 MiB in all, time for a body to arrive. Connections share nothing.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import unquote

from aiohttp import web
from multidict import CIMultiDict

from nagaya.apiserver.meta import status
from nagaya.apiserver.web.handler import error_response
from nagaya.apiserver.web.request import Request, Response, parse_query

BODY_LIMIT: Final = 3 * 1024 * 1024
BODY_TIMEOUT: Final = 30.0
_HEADER_LINE: Final = 64 * 1024
_BACKLOG: Final = 1024
_GRACE: Final = 2.0  # seconds that answers under way get when the server stops

Serve = Callable[[Request], Awaitable[Response]]


class Listener:
    """One listening socket."""

    def __init__(self, serve: Serve, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        self._serve = serve
        self._sock = sock
        self._tls = tls
        self._runner: web.ServerRunner | None = None
        self._streams: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The port it listens on."""
        port: int = self._sock.getsockname()[1]
        return port

    async def start(self) -> None:
        """Accept connections."""
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            max_line_size=_HEADER_LINE,
            max_field_size=_HEADER_LINE,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_GRACE)
        await self._runner.setup()
        site = web.SockSite(self._runner, self._sock, ssl_context=self._tls, backlog=_BACKLOG)
        await site.start()

    async def stop(self) -> None:
        """Stop accepting, end the streams, let answers under way finish."""
        for task in list(self._streams):
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        request = _head(raw)
        try:
            request.body = await _body(raw)
        except status.ApiError as error:
            refusal = _plain(error_response(request, error))
            refusal.force_close()
            return refusal
        response = await self._serve(request)
        if response.stream is None:
            return _plain(response)
        return await self._stream(raw, response)

    async def _stream(self, raw: web.BaseRequest, response: Response) -> web.StreamResponse:
        answer = web.StreamResponse(status=response.status, headers=_headers(response))
        answer.enable_chunked_encoding()
        await answer.prepare(raw)
        pump = asyncio.ensure_future(_pump(answer, response))
        self._streams.add(pump)
        try:
            await asyncio.wait([pump])
        finally:
            self._streams.discard(pump)
            pump.cancel()
        if not pump.cancelled() and (problem := pump.exception()) is not None:
            raise problem
        await answer.write_eof()
        return answer


async def _pump(answer: web.StreamResponse, response: Response) -> None:
    assert response.stream is not None
    try:
        async for chunk in response.stream:
            await answer.write(chunk)
    except ConnectionResetError:
        return  # the client has gone; there is nobody to tell


def _head(raw: web.BaseRequest) -> Request:
    path, _, query = raw.raw_path.partition("?")
    items = tuple((name.lower(), value) for name, value in raw.headers.items())
    transport = raw.transport
    certificate = None
    if transport is not None and (session := transport.get_extra_info("ssl_object")) is not None:
        certificate = session.getpeercert(binary_form=True)
    headers: dict[str, str] = {}
    for name, value in items:
        headers.setdefault(name, value)
    return Request(raw.method, unquote(path), parse_query(query), headers, b"", items, certificate, raw.remote or "")


async def _body(raw: web.BaseRequest) -> bytes:
    """The whole body. Raises 413 for one that is too large and 408 for one that does not come."""
    if not raw.body_exists:
        return b""
    if (raw.content_length or 0) > BODY_LIMIT:
        raise status.too_large(f"limit is {BODY_LIMIT}")
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for part in raw.content.iter_any():
                parts.append(part)
                size += len(part)
                if size > BODY_LIMIT:
                    raise status.too_large(f"limit is {BODY_LIMIT}")
    except TimeoutError:
        message = f"the request's body did not arrive within {BODY_TIMEOUT:.0f} s"
        raise status.ApiError(408, "Timeout", message) from None
    return b"".join(parts)


def _plain(response: Response) -> web.Response:
    return web.Response(status=response.status, body=response.body, headers=_headers(response))


def _headers(response: Response) -> CIMultiDict[str]:
    return CIMultiDict([("Content-Type", response.content_type), *response.headers])
