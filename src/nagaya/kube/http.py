"""Calls over HTTPS.

One `HttpTransport` keeps the connections to one server and uses them again. What always holds:

- The server's certificate is verified, unless the kubeconfig says otherwise; redirects are not followed, so credentials
  go to the server of the kubeconfig only.
- An error names the call and what went wrong, never a header or a body.
- Dead peers are noticed: silent connections are probed by TCP, and streams have a longest silence.
- No call is made twice, with two exceptions that cannot do harm: after 401, which means that nothing was done, if there
  are newer credentials; and calls that HTTP calls idempotent, once, when the server has closed a connection that was
  idle.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import nagaya
from nagaya.address_policy import POLICY
from nagaya.foreign_answers import LARGEST, Secrets, TooMuch, read_whole, secrets
from nagaya.foreign_text import escape_line
from nagaya.kube import proxy, tls
from nagaya.kube.connection import Connection
from nagaya.kube.credentials import Credentials, Proof
from nagaya.kube.exec_plugin import PluginFailed
from nagaya.kube.lines import lines
from nagaya.kube.transport import (
    Answer,
    AnswerLost,
    AnswerUnusable,
    Call,
    NoAnswer,
    NoCredentials,
    StreamAnswer,
    Unreachable,
)
from nagaya.sockets import Sockets, anywhere
from nagaya.world import World

CONNECT_TIMEOUT: Final = 10.0  # seconds, TLS included
IDLE_TIMEOUT: Final = 45.0  # seconds; servers and load balancers close idle connections after a minute or more
LONGEST_ANSWER: Final = 600.0  # seconds, for calls that name no time of their own
_PROBE_AFTER, _PROBE_EVERY, _PROBES = 30, 10, 3  # seconds of silence, seconds between TCP probes, probes
_CHUNK: Final = 256 * 1024
_LARGEST_OF_TENANTS: Final = 16 << 20  # bytes of an answer: many tenants may send one at a time
_SAFE: Final = "/:@!$&'()*+,;=~"

_FAILURES: Final = (aiohttp.ClientError, OSError, TooMuch)  # TimeoutError is an OSError

# Raised before a byte of the request is written.
_NOT_SENT: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


class HttpTransport:
    """A way to one server. Its session is made with the first call, in the loop that runs then."""

    def __init__(
        self,
        connection: Connection,
        *,
        world: World,
        environment: Mapping[str, str] | None = None,
        user_agent: str = f"nagaya/{nagaya.__version__}",
    ) -> None:
        """`environment` is the process's own unless another one is given. Raises ValueError for a proxy of no use."""
        environment = os.environ if environment is None else environment
        self._connection = connection
        self._credentials = Credentials(connection, world.clock, environment)
        # A proxy would connect in place of this process, where nobody checks the address.
        sealed = connection.sealed
        self._proxy = None if sealed else proxy.proxy_for(connection.server, connection.proxy, environment)
        self._headers = standing_headers(connection, user_agent)
        self._encrypted = connection.server.startswith("https:")
        self._session: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | None = None
        self._tls_of: Proof | None = None
        self._sockets = Sockets(_probed, check=POLICY.check if sealed else anywhere)
        self._closed = False

    @property
    def connection(self) -> Connection:
        """Where it leads, as whom."""
        return self._connection

    async def send(self, call: Call) -> Answer:
        """Make a call."""
        proof = await self._proof(call)
        answer = await self._send(call, proof)
        if answer.status == 401 and await self._renewed(call, proof):
            answer = await self._send(call, await self._proof(call))
        return answer

    async def _send(self, call: Call, proof: Proof) -> Answer:
        session, known = self._opened(call), secrets(proof.authorization)
        timeout = aiohttp.ClientTimeout(total=call.timeout or LONGEST_ANSWER, sock_connect=CONNECT_TIMEOUT)
        try:
            async with session.request(call.method, **self._request(call, proof), timeout=timeout) as response:
                body = await read_whole(response, _LARGEST_OF_TENANTS if self._connection.sealed else LARGEST)
                # Objects of the management API keep what they hold: a Secret may be about the same token.
                if self._connection.sealed or response.status >= 300:
                    body = known.remove_bytes(body)
                return Answer(response.status, _without(_headers(response), known), body)
        except _FAILURES as error:
            raise _no_answer(call, error, self._connection, known) from None

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        """Make a call whose answer is read as it comes."""
        proof = await self._proof(call)
        response = await self._open(call, proof)
        try:
            if response.status == 401 and await self._renewed(call, proof):
                response.close()
                proof = await self._proof(call)
                response = await self._open(call, proof)
            yield _Stream(call, response, self._connection, secrets(proof.authorization))
        finally:
            # Not released: what is unread would have to be read before the connection is of use again.
            response.close()

    async def _open(self, call: Call, proof: Proof) -> aiohttp.ClientResponse:
        session = self._opened(call)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=call.silence)
        try:
            async with asyncio.timeout(call.timeout):
                return await session.request(
                    call.method, **self._request(call, proof), timeout=timeout, read_bufsize=_CHUNK
                )
        except _FAILURES as error:
            raise _no_answer(call, error, self._connection, secrets(proof.authorization)) from None

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()
            await self._sockets.end()

    async def _proof(self, call: Call) -> Proof:
        try:
            return await self._credentials.get()
        except (OSError, PluginFailed, UnicodeDecodeError) as error:
            raise NoCredentials(call, f"there are no credentials for {self._connection.server}: {error}") from error

    async def _renewed(self, call: Call, refused: Proof) -> bool:
        try:
            return await self._credentials.renew(refused)
        except (OSError, PluginFailed, UnicodeDecodeError) as error:
            raise NoCredentials(
                call, f"{self._connection.server} refused the credentials, and there are no others: {error}"
            ) from error

    def _opened(self, call: Call) -> aiohttp.ClientSession:
        if self._closed:
            raise Unreachable(call, "the connection has been closed")
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_TIMEOUT, socket_factory=self._sockets.make)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    def _tls_for(self, call: Call, proof: Proof) -> ssl.SSLContext:
        """The pool keeps connections of different contexts apart, so new certificates mean new connections, while calls
        under way finish on the old ones."""
        known = self._tls_of
        if self._tls is None or known is None or (known.authority, known.pair) != (proof.authority, proof.pair):
            try:
                self._tls = tls.context_for(proof, insecure=self._connection.insecure)
            except ValueError as error:
                raise NoCredentials(call, f"{self._connection.server} cannot be asked: {error}") from error
            self._tls_of = proof
        return self._tls

    def _request(self, call: Call, proof: Proof) -> dict[str, Any]:
        target = self._connection.server + quote(call.path, safe=_SAFE)
        if call.query:
            target = f"{target}?{urlencode(call.query)}"
        headers = self._headers.copy()
        headers.update(call.headers)
        if proof.authorization:
            headers["authorization"] = proof.authorization
        asked: dict[str, Any] = {
            "url": URL(target, encoded=True),
            "headers": headers,
            "data": call.body,
            "allow_redirects": False,
        }
        if self._encrypted:
            asked["ssl"] = self._tls_for(call, proof)
        if self._connection.tls_server_name:
            asked["server_hostname"] = self._connection.tls_server_name
        if self._proxy is not None:
            asked |= {"proxy": self._proxy.url, "proxy_headers": self._proxy.headers}
        return asked


class _Stream:
    """An answer on its way."""

    def __init__(self, call: Call, response: aiohttp.ClientResponse, connection: Connection, known: Secrets) -> None:
        self._call = call
        self._known = known
        self._response = response
        self._connection = connection
        self.status = response.status
        self.headers = _without(_headers(response), known)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not (self._connection.sealed and self._known):
            async for chunk in self._chunks():
                yield chunk
            return
        try:
            async for batch in lines(self._chunks()):  # a chunk may hold a part of the credentials
                yield self._known.remove_bytes(b"\n".join(batch) + b"\n")
        except TooMuch as error:
            raise _no_answer(self._call, error, self._connection, self._known) from None

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
                await asyncio.sleep(0)  # a server that never pauses must not keep the loop to itself
        except aiohttp.SocketTimeoutError as error:
            silence = f"{self._connection.server} was silent for {self._call.silence:g} s"
            raise AnswerLost(self._call, silence) from error
        except _FAILURES as error:
            raise _no_answer(self._call, error, self._connection, self._known) from None

    async def body(self) -> bytes:
        try:
            async with asyncio.timeout(self._call.timeout):
                return self._known.remove_bytes(await read_whole(self._response))
        except _FAILURES as error:
            raise _no_answer(self._call, error, self._connection, self._known) from None


def _no_answer(call: Call, error: Exception, connection: Connection, known: Secrets) -> NoAnswer:
    server = connection.server
    if isinstance(error, TooMuch):
        return AnswerUnusable(call, f"{server}: {error}")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Unreachable(call, f"the proxy before {server} answered {error.status}")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Unreachable(call, f"{server} took no connection within {CONNECT_TIMEOUT:.0f} s")
    if isinstance(error, _NOT_SENT):
        return Unreachable(call, f"{server} cannot be reached: {known.remove(_cause(error))}")
    if isinstance(error, TimeoutError):
        waited = f" within {call.timeout:g} s" if call.timeout else " any more"
        return AnswerLost(call, f"{server} did not answer{waited}")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return AnswerLost(call, f"{server} closed the connection before it answered")
    return AnswerLost(call, f"the connection to {server} broke: {known.remove(_cause(error))}")


def _cause(error: Exception) -> str:
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(inner, aiohttp.ClientResponseError):
        return "what it sent is not HTTP, or has headers that are too long"  # the error repeats them
    words = getattr(inner, "verify_message", "") or getattr(inner, "strerror", "") or str(inner)
    return escape_line(words, 500) or type(inner).__name__


def standing_headers(connection: Connection, user_agent: str) -> CIMultiDict[str]:
    headers = CIMultiDict({"user-agent": user_agent})
    headers["accept-encoding"] = "gzip" if connection.compression else "identity"
    assumed = connection.impersonation
    if assumed is not None:
        headers["impersonate-user"] = assumed.user
        if assumed.uid:
            headers["impersonate-uid"] = assumed.uid
        for group in assumed.groups:
            headers.add("impersonate-group", group)
        for name, value in assumed.extra:
            headers.add(f"impersonate-extra-{quote(name.lower(), safe='')}", value)
    return headers


def _without(headers: Mapping[str, str], known: Secrets) -> Mapping[str, str]:
    return CIMultiDict((name, known.remove(value)) for name, value in headers.items()) if known else headers


def _headers(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    """Found by any case of their name; of those that are repeated, warnings are the only ones that matter."""
    warnings = response.headers.getall("warning", ())
    if len(warnings) < 2:
        return response.headers
    headers = CIMultiDict(response.headers)
    headers["warning"] = ", ".join(warnings)
    return headers


def _probed(made: socket.socket) -> None:
    """Let the peer be asked for a sign of life when it has been silent."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
