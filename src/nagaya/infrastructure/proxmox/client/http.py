"""Calls to Proxmox VE over HTTPS.

One `HttpTransport` keeps the connections of one ProxmoxConnection and uses them again. Who is trusted comes with each
call, so that credentials can be replaced while calls are under way. Redirects are not followed: credentials go to the
hosts that were named only.

A reply that is lost leaves a caller with a riddle, so care is taken that few are. What changes something goes over a
connection of its own: one that was kept may have died meanwhile, which shows only after the call was sent. Kept ones
serve reads, and are let go before PVE ends them (after 5 s of idleness). And no call is made twice behind our back: the
HTTP library would repeat a DELETE or PUT whose connection broke, as HTTP allows it, and might remove what came after.
"""

from __future__ import annotations

import io
import ssl
from typing import Any, Final

import aiohttp
from yarl import URL

import nagaya
from nagaya.address_policy import POLICY
from nagaya.foreign_answers import TooMuch, read_whole
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.infrastructure.proxmox.client.greeting import cause, fingerprint_of, greeted
from nagaya.infrastructure.proxmox.client.transport import Answer, NoAnswer, NotSent, ReplyLost, Request, Unusable
from nagaya.infrastructure.proxmox.client.trust import BadTrust, OneOf, Trust, context
from nagaya.sockets import Sockets

CONNECT_TIMEOUT: Final = 5.0  # seconds, TLS included
IDLE: Final = 4.0  # seconds
_PIECE: Final = 64 * 1024
_LARGEST: Final = 16 << 20  # bytes of an answer; 50,000 virtual machines

# Raised before a byte of the request is written.
_NOT_SENT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
    aiohttp.InvalidURL,
)


class _Broken(Exception):
    """The connection broke after the request was sent. Not one of the errors on which the library sends it again."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except _NOT_SENT:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _Broken(error) from error


class HttpTransport:
    """A way to hosts. Its sessions are made with the first calls, in the loop that runs then."""

    def __init__(self, *, user_agent: str = f"nagaya/{nagaya.__version__}", connections: int = 0) -> None:
        self._user_agent = user_agent
        self._connections = connections
        self._sessions: dict[bool, aiohttp.ClientSession] = {}  # by whether connections are kept
        self._contexts: dict[Trust, ssl.SSLContext | aiohttp.Fingerprint] = {}
        self._sockets = Sockets(check=POLICY.check)
        self._closed = False

    async def send(self, endpoint: Endpoint, trust: Trust, request: Request) -> Answer:
        """Send a request and return the answer, whatever its status. Raises NotSent or ReplyLost."""
        session, verified = self._opened(keep=request.method == "GET"), self._verified(trust)
        query = f"?{request.query}" if request.query else ""
        timeout = aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_TIMEOUT, connect=CONNECT_TIMEOUT)
        try:
            async with session.request(
                request.method,
                URL(f"{endpoint.url}{request.path}{query}", encoded=True),
                headers={"user-agent": self._user_agent, **request.headers},
                data=_body(request.body),
                allow_redirects=False,
                ssl=verified,
                timeout=timeout,
            ) as response:
                return Answer(response.status, response.reason or "", await read_whole(response, _LARGEST))
        except TooMuch as error:
            raise Unusable(f"{endpoint} answers too much: {error}") from error
        except _Broken as broken:
            raise _no_answer(endpoint, request, broken.error) from broken.error
        except aiohttp.ClientConnectorCertificateError as error:
            known_by = await _fingerprint(endpoint)
            raise NotSent(f"the certificate of {endpoint} is not trusted: {cause(error)}{known_by}") from error
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            raise _no_answer(endpoint, request, error) from error

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()
        await self._sockets.end()

    def _opened(self, *, keep: bool) -> aiohttp.ClientSession:
        if self._closed:
            raise NotSent("the connection has been closed")
        session = self._sessions.get(keep)
        if session is None:
            kept: dict[str, Any] = {"keepalive_timeout": IDLE} if keep else {"force_close": True}
            connector = aiohttp.TCPConnector(limit=self._connections, socket_factory=self._sockets.make, **kept)
            session = self._sessions[keep] = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), middlewares=(_once,)
            )
        return session

    def _verified(self, trust: Trust) -> ssl.SSLContext | aiohttp.Fingerprint:
        """The pool keeps connections of different contexts apart, so new trust means new connections."""
        known = self._contexts.get(trust)
        if known is None:
            try:
                known = OneOf(trust.fingerprints) if trust.fingerprints else context(trust)
            except BadTrust as error:
                raise NotSent(str(error)) from error
            self._contexts = {trust: known}
        return known


async def _fingerprint(endpoint: Endpoint) -> str:
    """By what a host that is not trusted could be: nothing is sent to it. Empty if it does not say any more."""
    try:
        return f" (SHA-256 fingerprint {fingerprint_of(await greeted(endpoint, Trust(insecure=True)))})"
    except OSError:
        return ""


def _body(body: bytes) -> bytes | io.BytesIO | None:
    # A large one is sent in pieces, so that other calls are not held up meanwhile.
    return io.BytesIO(body) if len(body) > _PIECE else body or None


def _no_answer(endpoint: Endpoint, request: Request, error: Exception) -> NoAnswer:
    if isinstance(error, aiohttp.ServerFingerprintMismatch):
        shown = ":".join(f"{byte:02X}" for byte in error.got)
        return NotSent(f"{endpoint} shows a certificate with another fingerprint: {shown}")
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return NotSent(f"{endpoint} took no connection within {CONNECT_TIMEOUT:.0f} s")
    if isinstance(error, _NOT_SENT):
        return NotSent(f"{endpoint} cannot be reached: {cause(error)}")
    if isinstance(error, TimeoutError):
        return ReplyLost(f"{endpoint} did not answer within {request.timeout:g} s", timed_out=True)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return ReplyLost(f"{endpoint} closed the connection before it answered")
    return ReplyLost(f"the connection to {endpoint} broke: {cause(error)}")
