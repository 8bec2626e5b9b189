"""What stands in front of several API servers of one tenant: passes connections on, byte for byte.

A program of its own, so that tenants are served while Nagaya is away, and so small that it needs nothing but Python's
own library. TLS goes through it untouched: it has no key, and cannot read what passes.

New connections go to an API server that is ready, the one with the fewest; those that exist stay where they are. An API
server that is about to end says so at /readyz some seconds before it takes no more connections. By then nobody is sent
there any more, and it tells those that it has to go elsewhere (GOAWAY). So an exchange of one after the other
interrupts nothing. If none is ready, connections are held for a while instead of being refused.

    balancer.py ADDRESS PORT FILE

FILE is read again whenever it changes: {"backends": [[ADDRESS, PORT], ...], "authority": PATH}.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from functools import partial

PROBE_INTERVAL = 0.5
PROBE_TIMEOUT = 3.0
HELD = 10.0
"""Seconds for which a connection waits for an API server that is ready."""
BACKLOG = 1024
Address = tuple[str, int]
_REQUEST = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Backend:
    """One API server."""

    def __init__(self, address: Address, changed: Callable[[], None]) -> None:
        self.address = address
        self.ready = False
        self.connections = 0
        self._changed = changed
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def watch(self, context: ssl.SSLContext) -> None:
        """Ask it whether it is ready, for ever."""
        while True:
            try:
                async with asyncio.timeout(PROBE_TIMEOUT):
                    ready = await self._ask(context)
            except (OSError, ValueError, EOFError, TimeoutError):
                self.hang_up()
                ready = False
            self.tell(ready)
            await asyncio.sleep(PROBE_INTERVAL)

    def tell(self, ready: bool) -> None:
        """Whether it is ready, as somebody has noticed."""
        if ready != self.ready:
            self.ready = ready
            self._changed()

    async def _ask(self, context: ssl.SSLContext) -> bool:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self.address, ssl=context)
        reader, writer = self._streams
        writer.write(_REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection", "").lower() == "close":
            self.hang_up()
        return status.split(" ")[1] == "200"

    def hang_up(self) -> None:
        """End the connection over which it is asked."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Balancer:
    """All API servers of a tenant."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stamp: tuple[int, int] | None = None
        self._backends: dict[Address, tuple[Backend, asyncio.Task[None]]] = {}
        self._turn = asyncio.Event()
        self._open = 0
        self._left = asyncio.Event()

    async def follow(self) -> None:
        """Read the file whenever it changes, for ever. One that cannot be read changes nothing."""
        while True:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                found = os.stat(self._file)
                stamp = (found.st_ino, found.st_mtime_ns)
                if stamp != self._stamp:
                    self._take()
                    self._stamp = stamp
            await asyncio.sleep(PROBE_INTERVAL)

    def _take(self) -> None:
        with open(self._file, "rb") as file:
            content = json.load(file)
        addresses = [(str(host), int(port)) for host, port in content["backends"]]
        context = ssl.create_default_context(cafile=content["authority"])
        context.check_hostname = False  # it is recognised by its authority: no client knows this address
        for address in [each for each in self._backends if each not in addresses]:
            backend, task = self._backends.pop(address)
            task.cancel()
            backend.hang_up()
            backend.tell(False)
        for address in addresses:
            if address not in self._backends:
                backend = Backend(address, self._turn.set)
                self._backends[address] = backend, asyncio.create_task(backend.watch(context))

    async def some_ready(self) -> None:
        """Wait until there is somebody to pass connections on to: before, they may be served by who listens now."""
        while not any(backend.ready for backend, _ in self._backends.values()):
            self._turn.clear()
            await self._turn.wait()

    def entered(self) -> None:
        """A connection was made."""
        self._open += 1

    def left(self) -> None:
        """A connection was lost."""
        self._open -= 1
        self._left.set()

    async def empty(self) -> None:
        """Wait until there is no connection any more."""
        while self._open:
            self._left.clear()
            await self._left.wait()

    def close(self) -> None:
        """Ask nobody any more."""
        for backend, task in self._backends.values():
            task.cancel()
            backend.hang_up()
        self._backends.clear()

    async def connect(self, side: Side) -> None:
        """Find somebody for a client. Nothing of what it sent has been read yet, so trying another does no harm."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + HELD
        while not side.closed:
            ready = [backend for backend, _ in self._backends.values() if backend.ready]
            if not ready:
                self._turn.clear()
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._turn.wait()
                except TimeoutError:
                    break
                continue
            backend = min(ready, key=lambda each: each.connections)
            try:
                _, other = await loop.create_connection(partial(Side, self, backend), *backend.address)
            except OSError:
                backend.tell(False)
                continue
            side.join(other)
            return
        side.close()


class Side(asyncio.Protocol):
    """One of the two connections that belong together."""

    def __init__(self, balancer: Balancer, backend: Backend | None = None) -> None:
        self._balancer = balancer
        self._backend = backend
        self._transport: asyncio.Transport | None = None
        self._other: Side | None = None
        self._finding: asyncio.Task[None] | None = None
        self.closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._balancer.entered()
        peer = transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        transport.pause_reading()
        if self._backend is None:
            self._finding = asyncio.create_task(self._balancer.connect(self))
        else:
            self._backend.connections += 1

    def join(self, other: Side) -> None:
        """Pass on from now on what comes, both ways."""
        self._other, other._other = other, self
        for side in (self, other):
            if side.closed:
                self.close()
                other.close()
                return
        for side in (self, other):
            assert side._transport is not None
            side._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.write(data)

    def eof_received(self) -> bool:
        """A client that has said all may still wait for its answer; an API server that has said all is done."""
        if self._backend is None and self._other is not None and not self._other.closed:
            assert self._other._transport is not None
            self._other._transport.write_eof()
            return True
        return False

    def pause_writing(self) -> None:
        if self._other is not None and self._other._transport is not None and not self._other.closed:
            self._other._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None and self._other._transport is not None and not self._other.closed:
            self._other._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._balancer.left()
        if self._finding is not None:
            self._finding.cancel()
        if self._backend is not None:
            self._backend.connections -= 1
        if self._other is not None:
            self._other.close()

    def close(self) -> None:
        """Hang up, after what is still to be written."""
        if self._transport is not None and not self.closed:
            self._transport.close()


async def serve(address: str, port: int, file: str) -> None:
    """Until SIGTERM."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopping.set)
    balancer = Balancer(file)
    following = asyncio.create_task(balancer.follow())
    await balancer.some_ready()
    # The port may be shared for a moment: with an API server that listened there when it was the only one.
    server = await loop.create_server(lambda: Side(balancer), address, port, reuse_port=True, backlog=BACKLOG)
    print(f"listening at {address}:{port}", flush=True)
    await stopping.wait()
    server.close()
    following.cancel()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HELD):
            await balancer.empty()
    balancer.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
