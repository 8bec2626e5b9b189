"""The way into a tenant's API, which can be barred: what a network or an overloaded control plane does to clients.

Only clients are kept out. The simulated components live behind the door and go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum
from typing import Final

from nagaya.apiserver.streams.byte_stream import CHUNK, ByteStream
from nagaya.apiserver.streams.forwarder import PodPorts
from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request, Response

Serve = Callable[[Request], Awaitable[Response]]
_BROKEN_OFF: Final = "the simulated API server has broken off"


class Way(Enum):
    """How clients fare."""

    OPEN = "requests are served"
    HANGING = "requests are taken and never answered, and watches are silent, until the door is opened"
    REFUSING = "nothing is accepted, and what was open is broken off"


class Door:
    """Hands requests on as long as it is open."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._way = Way.OPEN
        self._turned = asyncio.Event()

    @property
    def way(self) -> Way:
        """How clients fare at the moment."""
        return self._way

    def turn(self, way: Way) -> None:
        """Open or bar the door; everyone at it notices."""
        self._way = way
        turned, self._turned = self._turned, asyncio.Event()
        turned.set()

    async def __call__(self, request: Request) -> Response:
        """Serve a request. Raises ConnectionRefusedError while the door refuses."""
        await self._pass(ConnectionRefusedError("the simulated API server refuses connections"))
        response = await self._serve(request)
        await self.hold()
        if response.stream is not None:
            response.stream = self._through(response.stream)
        if response.upgrade is not None:
            response.upgrade.ports = _GuardedPorts(response.upgrade.ports, self)
        return response

    async def guard(self, work: Awaitable[None]) -> None:
        """Do something for a client that ends when the door is shut. Raises ConnectionResetError then."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                turned = asyncio.ensure_future(self._turned.wait())
                try:
                    await asyncio.wait({task, turned}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    turned.cancel()
                if self._way is Way.REFUSING:
                    raise ConnectionResetError(_BROKEN_OFF)
        finally:
            task.cancel()
            await asyncio.wait({task})
        task.result()

    async def hold(self) -> None:
        """Let a client wait while the door hangs. Raises ConnectionResetError if it is shut then."""
        await self._pass(ConnectionResetError(_BROKEN_OFF))

    async def _pass(self, refusal: OSError) -> None:
        while self._way is Way.HANGING:
            await self._turned.wait()
        if self._way is Way.REFUSING:
            raise refusal

    async def _through(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        following: asyncio.Task[bytes] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(_next(stream))
                turned = asyncio.ensure_future(self._turned.wait())
                try:
                    await asyncio.wait({following, turned}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    turned.cancel()
                await self.hold()
                if following.done():
                    try:
                        chunk = following.result()
                    except StopAsyncIteration:
                        return
                    following = None
                    yield chunk
        finally:
            if following is not None:
                following.cancel()
                await asyncio.wait({following})
            await ended(stream)


async def _next(stream: AsyncIterator[bytes]) -> bytes:
    return await anext(stream)


class _GuardedPorts:
    """Ports of a pod behind the door."""

    def __init__(self, ports: PodPorts, door: Door) -> None:
        self._ports = ports
        self._door = door

    async def serve(self, port: int, stream: ByteStream) -> None:
        """Speak with a client of a port, as long as the door lets it."""
        await self._door.guard(self._ports.serve(port, _HeldStream(stream, self._door)))


class _HeldStream:
    """A stream in which nothing moves while the door hangs."""

    def __init__(self, under: ByteStream, door: Door) -> None:
        self._under = under
        self._door = door

    async def read(self, limit: int = CHUNK) -> bytes:
        await self._door.hold()
        data = await self._under.read(limit)
        await self._door.hold()
        return data

    async def write(self, data: bytes) -> None:
        await self._door.hold()
        await self._under.write(data)

    async def write_eof(self) -> None:
        await self._door.hold()
        await self._under.write_eof()

    async def close(self) -> None:
        await self._under.close()
