"""Calls to an API server in the same process: no socket, no TLS, no copies.

The caller is trusted, so nothing has to be proved on every call: it shows a certificate that the server's own authority
issued to it, which the server knows again by its fingerprint. Any identity can be had that way, and RBAC, audit and
managed fields treat it like one that came over the network.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.apiserver.server import ApiServer
from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request, Response
from nagaya.kube.transport import Answer, AnswerLost, Call, StreamAnswer, Unreachable
from nagaya.pki.certificates import CertificateSpec

_VALIDITY: Final = timedelta(days=30)
_RENEW_BEFORE: Final = timedelta(days=10)
_REMOTE: Final = "127.0.0.1"


class InProcessTransport:
    """A way to a server in this process, as one user."""

    def __init__(
        self,
        server: ApiServer,
        user: str = "nagaya",
        groups: tuple[str, ...] = ("system:masters",),
        user_agent: str = "nagaya",
    ) -> None:
        self._server = server
        self._spec = CertificateSpec(user, groups, validity=_VALIDITY)
        self._headers = {"user-agent": user_agent}
        self._certificate = b""
        self._renew_at: datetime | None = None
        self._closed = False

    async def send(self, call: Call) -> Answer:
        """Make a call."""
        try:
            async with asyncio.timeout(call.timeout):
                response = await self._handle(call)
                body = response.body if response.stream is None else await _whole(response.stream)
        except TimeoutError:
            raise AnswerLost(call, f"the server in this process did not answer within {call.timeout:g} s") from None
        return Answer(response.status, _headers(response), body)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Make a call whose answer is read as it comes."""
        try:
            async with asyncio.timeout(call.timeout):
                response = await self._handle(call)
        except TimeoutError:
            raise AnswerLost(call, f"the server in this process did not answer within {call.timeout:g} s") from None
        try:
            yield _Stream(response)
        finally:
            if response.stream is not None:
                await ended(response.stream)

    async def close(self) -> None:
        """Take no more calls."""
        self._closed = True

    async def _handle(self, call: Call) -> Response:
        # A call over the network lets others have their turn; so does this one, or a busy caller would keep everything
        # else waiting, the watches that tell it what it has done included.
        await asyncio.sleep(0)
        if self._closed or self._server.store.closed:
            raise Unreachable(call, "the server in this process has stopped")
        headers = {**self._headers, **call.headers}
        return await self._server.handle(
            Request(
                call.method,
                call.path,
                {name: [value] for name, value in call.query.items()},
                headers,
                call.body or b"",
                tuple(headers.items()),
                self._shown(),
                _REMOTE,
            )
        )

    def _shown(self) -> bytes:
        clock = self._server.world.clock
        if self._renew_at is None or clock.now() >= self._renew_at:
            certificate, _ = self._server.identity.authority.issue_pair(self._spec, clock)
            self._certificate = certificate.public_bytes(Encoding.DER)
            self._renew_at = certificate.not_valid_after_utc - _RENEW_BEFORE
        return self._certificate


class _Stream:
    """An answer on its way."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self.status = response.status
        self.headers = _headers(response)

    def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        return _once(self._response.body) if stream is None else stream

    async def body(self) -> bytes:
        stream = self._response.stream
        return self._response.body if stream is None else await _whole(stream)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _whole(stream: AsyncIterator[bytes]) -> bytes:
    try:
        return b"".join([chunk async for chunk in stream])
    finally:
        await ended(stream)


def _headers(response: Response) -> Mapping[str, str]:
    headers = {"content-type": response.content_type}
    for name, value in response.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers
