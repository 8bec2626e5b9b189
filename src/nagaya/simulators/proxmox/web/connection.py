"""One connection of a client to a host."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.failure import Unanswered, Unconnected
from nagaya.simulators.proxmox.front.parameters import LONGEST_BODY
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.web.message import LONGEST_HEADERS, MOST_HEADERS, Head, Malformed, parse, written

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

MOST_REQUESTS = 100
_END = b"\r\n\r\n"
log = logging.getLogger(__name__)


class Connection:
    """Reads requests and writes answers, one after the other."""

    def __init__(
        self, emulator: Emulator, node: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._emulator = emulator
        self._node = node
        self._reader = reader
        self._writer = writer

    async def serve(self) -> None:
        """Until one side ends it."""
        try:
            for left in range(MOST_REQUESTS - 1, -1, -1):
                if not await self._exchange(last=not left):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass  # The client has gone, or says nothing any more.
        except (Unanswered, Unconnected):
            self.abort()
        finally:
            self._writer.close()

    def abort(self) -> None:
        """End it at once, whatever is under way."""
        self._writer.transport.abort()

    async def _exchange(self, *, last: bool) -> bool:
        """One request and its answer. Says whether another may follow."""
        async with asyncio.timeout(self._emulator.pace.idle_connection):
            raw = await self._reader.readuntil(_END)
        try:
            head = parse(raw.removesuffix(_END))
            if len(raw) > LONGEST_HEADERS + len(head.target) or len(head.headers) >= MOST_HEADERS:
                return False
            answer = await self._answered(head)
        except Malformed as malformed:
            head = Head("GET", "/", "HTTP/1.1", {"connection": "close"})
            answer = Answer(malformed.status, malformed.reason, None, malformed.reason.encode(), close=True)
        keep_alive = head.keeps_alive and not (answer.close or last) and bool(answer.body)
        now = self._emulator.world.clock.now()
        self._writer.write(written(answer, now, version=head.version, keep_alive=keep_alive, compress=head.takes_gzip))
        await self._writer.drain()
        return keep_alive

    async def _answered(self, head: Head) -> Answer:
        body = b""
        if head.length:
            upload = head.path.endswith("/upload")
            body = await self._reader.readexactly(head.length if upload else min(head.length, LONGEST_BODY + 1))
        request = Request(head.method, head.path, head.query, head.headers, body, self._node)
        try:
            return await self._emulator.answer(request)
        except (Unanswered, Unconnected):
            raise
        except Exception:
            log.exception("the emulator failed at %s %s", head.method, head.path)
            text = f"the emulator failed at {head.method} {head.path}: see its log"
            return Answer(500, text, None, text.encode(), close=True)
