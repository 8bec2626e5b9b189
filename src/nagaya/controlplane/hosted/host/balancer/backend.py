"""One API server: whether it is ready, whether it leaves, and the connections that it has."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from .passage import Passage

PROBE_INTERVAL = 0.5
PROBE_TIMEOUT = 3.0
Address = tuple[str, int]
# Of version 1.0, so that a long answer ends with the connection instead of being cut into pieces.
_REQUEST = b"GET /readyz HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
_ENDING = b"[-]shutdown failed"
"""What an API server says that was told to end."""


class Backend:
    """One API server."""

    def __init__(self, address: Address, changed: Callable[[], None]) -> None:
        self.address = address
        self.ready = False
        self.passages: set[Passage] = set()
        self._told_to_leave = False
        self._says_it_ends = False
        self._changed = changed
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def leaving(self) -> bool:
        """Whether its connections shall end."""
        return self._told_to_leave or self._says_it_ends

    @property
    def remaining(self) -> int:
        """How many connections have not ended that cannot be left to the API server itself."""
        return sum(not each.http2 for each in self.passages)

    def entered(self, passage: Passage) -> None:
        """A connection was made."""
        self.passages.add(passage)

    def left(self, passage: Passage) -> None:
        """A connection was lost."""
        self.passages.discard(passage)

    def leave(self, leaving: bool) -> None:
        """Whether it shall be left, as somebody has decided."""
        self._notice(leaving, self._says_it_ends)

    def tell(self, ready: bool, ends: bool = False) -> None:
        """Whether it is ready, as somebody has noticed."""
        self._notice(self._told_to_leave, ends)
        if ready != self.ready:
            self.ready = ready
            self._changed()

    def _notice(self, told_to_leave: bool, says_it_ends: bool) -> None:
        before = self.leaving
        self._told_to_leave, self._says_it_ends = told_to_leave, says_it_ends
        if self.leaving != before:
            for each in [*self.passages]:
                each.leave(self.leaving)

    async def watch(self, context: ssl.SSLContext) -> None:
        """Ask it whether it is ready, for ever."""
        while True:
            ready, body = False, b""
            try:
                async with asyncio.timeout(PROBE_TIMEOUT):
                    ready, body = await self._ask(context)
            except (OSError, ValueError, IndexError, EOFError, TimeoutError):
                self.hang_up()
            self.tell(ready, ends=_ENDING in body)
            await asyncio.sleep(PROBE_INTERVAL)

    async def _ask(self, context: ssl.SSLContext) -> tuple[bool, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self.address, ssl=context)
        reader, writer = self._streams
        writer.write(_REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = headers.get("content-length")
        body = await reader.read(-1) if length is None else await reader.readexactly(int(length))
        if length is None or headers.get("connection", "").lower() != "keep-alive":
            self.hang_up()
        return status.split(" ")[1] == "200", body

    def hang_up(self) -> None:
        """End the connection over which it is asked."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
