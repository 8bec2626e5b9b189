"""The sockets of one HTTP client, so that none outlives it.

A call that is cancelled while its connection is made, or TLS that says goodbye, leaves a connection that the HTTP
library no longer knows: it would stay open until the other side lets go, or for good if the loop ends first. Who makes
the sockets can end them.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

_TURNS: Final = 10
"""Of the loop, in which connections see that they have ended; three are needed."""


Check = Callable[[tuple[Any, ...]], None]
"""Raises OSError for an address, as `getaddrinfo` says it, that no socket may be connected to."""


def anywhere(address: tuple[Any, ...]) -> None:
    """Allow all addresses."""


async def connected(host: str, port: int, check: Check) -> socket.socket:
    """A socket that is connected to an address of a host that passes a check. Raises OSError."""
    loop, refused = asyncio.get_running_loop(), OSError(f"{host} has no address")
    for family, kind, protocol, _, where in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, protocol)
        try:
            check(where)
            made.setblocking(False)
            await loop.sock_connect(made, where)
        except BaseException as error:
            made.close()
            if not isinstance(error, OSError):
                raise
            refused = error
        else:
            return made
    raise refused


class Sockets:
    """Makes sockets for `aiohttp.TCPConnector(socket_factory=...)`, and ends those that are left."""

    def __init__(
        self, prepare: Callable[[socket.socket], None] = lambda made: None, *, check: Check = anywhere
    ) -> None:
        """`prepare` sets the options of each."""
        self._prepare = prepare
        self._check = check
        self._made: WeakSet[socket.socket] = WeakSet()

    def make(self, address: tuple[Any, ...]) -> socket.socket:
        """One more, for an address as `getaddrinfo` says it."""
        family, kind, protocol, _, where = address
        self._check(where)
        made = socket.socket(family, kind, protocol)
        self._prepare(made)
        self._made.add(made)
        return made

    async def end(self) -> None:
        """End those that are still open, behind the end of the session that used them."""
        if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
            return  # uvloop ends them itself, and would complain of a handshake that is broken off
        await self._closed()  # most are about to be
        for left in self._open():
            with suppress(OSError):  # not connected any more
                left.shutdown(socket.SHUT_RD)
        await self._closed()

    async def _closed(self) -> None:
        for _ in range(_TURNS):
            if not self._open():
                break
            await asyncio.sleep(0)

    def _open(self) -> list[socket.socket]:
        return [each for each in self._made if each.fileno() >= 0]
