"""The way into a tenant's API, which can be barred: what a network or an overloaded control plane does to clients.

Only clients are kept out. The simulated components live behind the door and go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum

from nagaya.apiserver.web.observer import ended
from nagaya.apiserver.web.request import Request, Response

Serve = Callable[[Request], Awaitable[Response]]


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
        await self._pass(ConnectionResetError("the simulated API server has broken off"))
        if response.stream is not None:
            response.stream = self._through(response.stream)
        return response

    async def _pass(self, refusal: OSError) -> None:
        while self._way is Way.HANGING:
            await self._turned.wait()
        if self._way is Way.REFUSING:
            raise refusal

    async def _through(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        broken = ConnectionResetError("the simulated API server has broken off")
        following: asyncio.Task[bytes] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(_next(stream))
                turned = asyncio.ensure_future(self._turned.wait())
                try:
                    await asyncio.wait({following, turned}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    turned.cancel()
                await self._pass(broken)
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
