"""Streams to ports of pods through an API server, with everything that its kubeconfig says.

The WebSocket form is tried first, and plain SPDY when the server does not know it, as kubectl does; which of them
worked is remembered. Credentials, certificates, impersonation and proxies are those of every other call. What always
holds: a dial that fails or is cancelled leaves no connection behind.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlsplit

import nagaya
from nagaya.address_policy import POLICY
from nagaya.foreign_answers import secrets
from nagaya.kube import errors, proxy, tls
from nagaya.kube.connection import Connection
from nagaya.kube.credentials import Credentials, Proof
from nagaya.kube.exec_plugin import PluginFailed
from nagaya.kube.http import standing_headers as standing_headers
from nagaya.kube.streams import upgrade
from nagaya.kube.streams.forward import PROTOCOL, TUNNEL_PROTOCOL, PodSession, PodStream
from nagaya.kube.streams.session import PING_INTERVAL, SILENCE, SpdySession
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.kube.streams.tcp import TcpStream
from nagaya.kube.streams.tls import TlsStream, explain
from nagaya.kube.streams.upgrade import ConnectionReader, Response
from nagaya.kube.streams.websocket import WebSocketStream
from nagaya.kube.transport import Answer, Call, NoCredentials, Unreachable
from nagaya.sockets import anywhere
from nagaya.wire.websocket import accept_key
from nagaya.world import World

log = logging.getLogger(__name__)

DIAL_TIMEOUT: Final = 10.0  # seconds until a port can be written to
_PORTS: Final = {"https": 443, "http": 80}


class PortForward:
    """The pods of the cluster that a connection leads to. Keeps no connection of its own."""

    def __init__(
        self,
        connection: Connection,
        *,
        world: World,
        environment: Mapping[str, str] | None = None,
        timeout: float = DIAL_TIMEOUT,
        ping_interval: float = PING_INTERVAL,
        silence: float = SILENCE,
        idle_timeout: float | None = None,
        user_agent: str = f"nagaya/{nagaya.__version__}",
    ) -> None:
        """Times in seconds: `timeout` for each dial, the others for what it gives (see `SpdySession`). Raises
        ValueError for a proxy of no use."""
        environment = os.environ if environment is None else environment
        self._connection = connection
        self._credentials = Credentials(connection, world.clock, environment)
        sealed = connection.sealed
        self._check = POLICY.check if sealed else anywhere
        self._proxy = None if sealed else proxy.proxy_for(connection.server, connection.proxy, environment)
        self._headers = standing_headers(connection, user_agent)
        self._timeout = timeout
        self._ping_interval = ping_interval
        self._silence = silence
        self._idle_timeout = idle_timeout
        self._only_spdy = False
        self._tls: tuple[Proof, ssl.SSLContext] | None = None

    async def dial(self, namespace: str, name: str, port: int) -> PodStream:
        """A connection to a port of a pod, in a session of its own."""
        async with self._in_time(namespace, name):
            session = await self._session(namespace, name)
            try:
                return await session.connect(port, alone=True)
            except BaseException:
                await session.close()
                raise

    async def session(self, namespace: str, name: str) -> PodSession:
        """A session that can have many connections to one pod. Raises as `dial` does."""
        async with self._in_time(namespace, name):
            return await self._session(namespace, name)

    @asynccontextmanager
    async def _in_time(self, namespace: str, name: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout):
                yield
        except TimeoutError as error:
            call = _call("POST", namespace, name)
            raise Unreachable(call, f"{self._connection.server} gave no stream within {self._timeout:g} s") from error

    async def _session(self, namespace: str, name: str) -> PodSession:
        stream: Stream | None = None
        if not self._only_spdy:
            stream = await self._websocket(_call("GET", namespace, name))
        if stream is None:
            stream = await self._spdy(_call("POST", namespace, name))
        session = SpdySession(
            stream, ping_interval=self._ping_interval, silence=self._silence, idle_timeout=self._idle_timeout
        )
        return PodSession(session, f"{namespace}/{name}")

    async def _websocket(self, call: Call) -> Stream | None:
        """A WebSocket that carries SPDY, or nothing if the server gives none: then SPDY alone says why not."""
        key = base64.b64encode(os.urandom(16)).decode()
        asked = {
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": key,
            "sec-websocket-protocol": TUNNEL_PROTOCOL,
        }
        stream, response = await self._ask(call, asked)
        headers = response.headers
        if (
            response.status == upgrade.SWITCHING
            and headers.get("sec-websocket-accept") == accept_key(key)
            and headers.get("sec-websocket-protocol") == TUNNEL_PROTOCOL
        ):
            return WebSocketStream(stream)
        await stream.close()
        if response.status == 401:  # the same would be said to SPDY
            raise errors.from_answer(_answer(response), call)
        log.debug("%s: no WebSocket (%d), asking for SPDY", call, response.status)
        return None

    async def _spdy(self, call: Call) -> Stream:
        asked = {"upgrade": "SPDY/3.1", "x-stream-protocol-version": PROTOCOL, "content-length": "0"}
        stream, response = await self._ask(call, asked)
        if response.status != upgrade.SWITCHING:
            self._only_spdy = False
            raise errors.from_answer(_answer(response), call)
        spoken = response.headers.get("x-stream-protocol-version", PROTOCOL)
        if "spdy/3.1" not in response.headers.get("upgrade", "").lower() or spoken != PROTOCOL:
            await stream.close()
            raise StreamBroken(f"{call}: the server speaks another protocol than {PROTOCOL} over SPDY/3.1")
        self._only_spdy = True
        return stream

    async def _ask(self, call: Call, asked: Mapping[str, str]) -> tuple[ConnectionReader, Response]:
        """The answer to a request, and the connection that it came over: the caller's, and open if it was a yes."""
        try:
            proof = await self._credentials.get()
            stream, response = await self._ask_as(proof, call, asked)
            if response.status == 401 and await self._credentials.renew(proof):
                stream, response = await self._ask_as(await self._credentials.get(), call, asked)
        except (OSError, PluginFailed, UnicodeDecodeError) as error:
            why = f"there are no credentials for {self._connection.server}: {error}"
            raise NoCredentials(call, why) from error
        return stream, response

    async def _ask_as(self, proof: Proof, call: Call, asked: Mapping[str, str]) -> tuple[ConnectionReader, Response]:
        server = urlsplit(self._connection.server)
        headers = self._headers.copy()
        headers.update({"host": server.netloc, "connection": "Upgrade", "accept-encoding": "identity", **asked})
        if proof.authorization:
            headers["authorization"] = proof.authorization
        stream = ConnectionReader(await self._connect(proof, call))
        accepted = False
        try:
            response = await upgrade.request(stream, call.method, server.path + call.path, headers.items())
            accepted = response.status == upgrade.SWITCHING
        except StreamBroken as error:
            raise Unreachable(call, f"{self._connection.server} cannot be asked: {error}") from error
        finally:
            if not accepted:
                await stream.close()
        body = secrets(proof.authorization).remove_bytes(response.body)
        return stream, replace(response, body=body)

    async def _connect(self, proof: Proof, call: Call) -> Stream:
        """A connection to the server, through the proxy if there is one, encrypted if it is to be."""
        server = urlsplit(self._connection.server)
        host, port = server.hostname or "", server.port or _PORTS[server.scheme]
        stream: Stream | None = None
        try:
            stream = (
                await self._tunnel(host, port)
                if self._proxy is not None
                else await TcpStream.connect(host, port, self._check)
            )
            if server.scheme == "https":
                name = self._connection.tls_server_name or host
                stream = await TlsStream.open(stream, self._context(proof, call), name)
        except BaseException as error:
            if stream is not None:
                await stream.close()
            if isinstance(error, (OSError, StreamBroken)):  # ssl.SSLError is an OSError
                why = explain(error) if isinstance(error, ssl.SSLError) else getattr(error, "strerror", "") or error
                raise Unreachable(call, f"{self._connection.server} cannot be reached: {why}") from error
            raise
        return stream

    async def _tunnel(self, host: str, port: int) -> Stream:
        assert self._proxy is not None
        address = urlsplit(self._proxy.url)
        name = address.hostname or ""
        stream: Stream = await TcpStream.connect(name, address.port or _PORTS[address.scheme])
        try:
            if address.scheme == "https":
                stream = await TlsStream.open(stream, ssl.create_default_context(), name)
            reader = ConnectionReader(stream)
            target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            headers = [("host", target), *self._proxy.headers.items()]
            response = await upgrade.request(reader, "CONNECT", target, headers, success=200)
            if response.status != 200:
                raise StreamBroken(f"the proxy before it answered {response.status}")
        except BaseException:
            await stream.close()
            raise
        return reader

    def _context(self, proof: Proof, call: Call) -> ssl.SSLContext:
        if self._tls is None or (self._tls[0].authority, self._tls[0].pair) != (proof.authority, proof.pair):
            try:
                self._tls = proof, tls.context_for(proof, insecure=self._connection.insecure)
            except ValueError as error:
                raise NoCredentials(call, f"{self._connection.server} cannot be asked: {error}") from error
        return self._tls[1]


def _call(method: str, namespace: str, name: str) -> Call:
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}/portforward"
    return Call(method, path)


def _answer(response: Response) -> Answer:
    return Answer(response.status, response.headers, response.body)
