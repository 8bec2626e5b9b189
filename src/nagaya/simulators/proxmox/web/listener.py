"""The port of one host. Who speaks plain HTTP to it is sent to HTTPS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from typing import TYPE_CHECKING, Final

from nagaya.simulators.proxmox.state.node import Node, Unreachable
from nagaya.simulators.proxmox.web.connection import Connection
from nagaya.simulators.proxmox.web.message import LONGEST_HEADERS, Malformed, parse, redirected, written

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

BACKLOG = 512
_TLS_HANDSHAKE = b"\x16"
_AGAIN: Final = 1.0  # seconds until the next attempt when connections cannot be accepted

log = logging.getLogger(__name__)


class Listener:
    """Accepts connections while its host is on. While it is off the port is kept, but refuses them, or is silent."""

    def __init__(self, emulator: Emulator, node: Node, context: ssl.SSLContext, host: str, port: int) -> None:
        self._emulator = emulator
        self._node = node
        self._context = context
        self._host = host
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._connections: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None

    def follow_power(self) -> None:
        """Take connections, or take none and end those that stand, as the host is on or off."""
        if self._node.online == (self._accepting is not None):
            return
        if self._accepting is not None:
            self._accepting.cancel()
            self._accepting = None
            for connection in self._connections:
                connection.cancel()
            self._socket.close()
            self._socket = _bound(self._host, self.port)
        if self._node.online:
            self._socket.listen(BACKLOG)
            self._accepting = asyncio.get_running_loop().create_task(self._accept())
        elif self._node.unreachable is Unreachable.SILENT:
            self._socket.listen(BACKLOG)

    async def close(self) -> None:
        """End all connections and leave the port."""
        ending = [*self._connections, *([] if self._accepting is None else [self._accepting])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        self._socket.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(self._socket)
            except OSError as error:  # too many open files, for example
                log.warning("%s cannot accept connections: %s. Trying again in %g s", self._node.name, error, _AGAIN)
                await asyncio.sleep(_AGAIN)
                continue
            task = loop.create_task(self._serve(client))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _serve(self, client: socket.socket) -> None:
        try:
            async with asyncio.timeout(self._emulator.pace.idle_connection):
                encrypted = await _peeked(client) == _TLS_HANDSHAKE
            if not encrypted:
                await self._redirect(client)
        except (OSError, TimeoutError):
            encrypted = False  # One that goes away, or does not even say hello, is nobody's failure.
        except asyncio.CancelledError:
            client.close()
            raise
        if encrypted:
            with contextlib.suppress(OSError):
                await self._speak(client)
        else:
            client.close()

    async def _speak(self, client: socket.socket) -> None:
        """TLS. From here on the socket belongs to its transport."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 20, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, client, ssl=self._context)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        connection = Connection(self._emulator, self._node.name, reader, writer)
        try:
            await connection.serve()
        except asyncio.CancelledError:
            connection.abort()
            raise

    async def _redirect(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        head = b""
        async with asyncio.timeout(self._emulator.pace.idle_connection):
            while b"\r\n\r\n" not in head and (more := await loop.sock_recv(client, 1 << 16)):
                head += more
                if len(head) > LONGEST_HEADERS:
                    return
        with contextlib.suppress(Malformed):
            request = parse(head.partition(b"\r\n\r\n")[0])
            now = self._emulator.world.clock.now()
            moved = redirected(request)
            sent = written(moved, now, version=request.version, keep_alive=request.keeps_alive, compress=False)
            await loop.sock_sendall(client, sent)


def _bound(host: str, port: int) -> socket.socket:
    """A socket that has a port but does not listen there: whoever tries is refused."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setblocking(False)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


async def _peeked(client: socket.socket) -> bytes:
    """The first byte that a client sends, left where it is."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(client, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(client)
    return client.recv(1, socket.MSG_PEEK)
