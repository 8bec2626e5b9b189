"""One API server: whether it is ready, leaving or closed, and its connections."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from .goodbye import IDLE
from .passage import Passage

PROBE_INTERVAL = 0.5
PROBE_TIMEOUT = 3.0
BUSY_LIMIT = IDLE + 5.0
"""Seconds after which a client whose answer is not complete is left to the API server: one that waits for its answer,
or one that gets a stream without a pause in which the connection could be ended. The API server completes requests that
it has begun, and ends streams. The limit does not apply to connections without traffic: a new request could begin."""
HUNG_LIMIT = 30.0
"""Seconds without an answer to any probe after which an API server is no longer waited for."""
CLOSED_LIMIT = 10.0
"""Seconds for which an API server stays closed without beginning to end. Shorter than the 15 s for which clients of
Kubernetes wait for the answer to an HTTP/2 ping."""
RESUME_DELAY = 5.0
"""Seconds between the end of the listening socket and the moment from which HTTP/2 clients are read from again. An API
server sends GOAWAY when it closes its listening socket, and from then on ignores new requests. An upload that was
stopped half-way goes on."""
Address = tuple[str, int]
# Of version 1.0, so that a long answer ends with the connection instead of being cut into pieces.
_REQUEST = b"GET /readyz HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
_ENDING = b"[-]shutdown failed"
"""Part of the answer of an API server that was told to end."""


class Backend:
    """One API server."""

    def __init__(self, address: Address, changed: Callable[[], None]) -> None:
        self.address = address
        self.ready = False
        self.connecting = 0
        """Connections that are being established."""
        self.passages: set[Passage] = set()
        self.is_closed = False
        self._is_marked = False
        self._is_ending = False
        self._is_gone = False
        self.stops_http2 = False
        """Whether nothing shall be read from HTTP/2 clients."""
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._closed_until = 0.0
        self._refused_since: float | None = None
        self._is_hung = False
        self._probed_at = float("-inf")
        self._answered_at = float("-inf")
        self._valid_from = float("-inf")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def leaving(self) -> bool:
        """Whether its connections shall end."""
        return self._is_marked or self._is_ending

    @property
    def remaining(self) -> int:
        """Number of connections over which an HTTP/1.1 request could still arrive."""
        return self.connecting + sum(
            not passage.http2 and not passage.is_left_to_server(BUSY_LIMIT) for passage in self.passages
        )

    def was_probed_since(self, moment: float) -> bool:
        """Whether a probe that was sent after `moment` has ended, so that `ready` is not older."""
        return self._probed_at > moment

    def has_answered_since(self, moment: float) -> bool:
        """Whether the API server had processor time after `moment`: it answered a probe that was sent later. True for
        one that answers no probe any more."""
        is_silent = self._is_gone or self._is_hung or self._refused_since is not None
        return is_silent or self._answered_at > moment

    def entered(self, passage: Passage) -> None:
        """Add an established connection."""
        self.passages.add(passage)

    def left(self, passage: Passage) -> None:
        """Remove a lost connection."""
        self.passages.discard(passage)

    def mark(self, leaving: bool) -> None:
        """Set whether the file lists this API server as leaving."""
        if self._is_marked and not leaving:
            # The process may be another one by now: only a probe that is sent from now on counts.
            self._valid_from = self._loop.time()
            self.ready = False
            self.is_closed = False
        self._update(leaving, self._is_ending)

    def remove(self) -> None:
        """End all connections of an API server that the file no longer lists, and that is no longer probed."""
        self._is_gone = True
        self.hang_up()
        self.set_ready(False)
        self.mark(True)

    def close_to_clients(self) -> None:
        """Accept no connection, and no further request over HTTP/2."""
        self.is_closed = True
        self._closed_until = self._loop.time() + CLOSED_LIMIT
        self._update(self._is_marked, self._is_ending)

    def reopen(self) -> None:
        """Go back from closed to leaving."""
        self.is_closed = False
        self._update(self._is_marked, self._is_ending)

    @property
    def has_been_closed_for_nothing(self) -> bool:
        """Whether the API server was to end after it had been closed, and has said later that it does not. Silence
        proves nothing: the machine may be busy."""
        return self.is_closed and not self._is_ending and self._answered_at > self._closed_until

    def set_ready(self, ready: bool, *, is_ending: bool = False) -> None:
        """Record the result of a probe. An API server that has begun to end does so until another one is ready."""
        self._update(self._is_marked, not ready and (is_ending or self._is_ending))
        if ready != self.ready:
            self.ready = ready
            self._changed()

    def _update(self, is_marked: bool, is_ending: bool) -> None:
        was_leaving = self.leaving
        self._is_marked, self._is_ending = is_marked, is_ending
        if self.leaving != was_leaving:
            for passage in [*self.passages]:
                passage.leave(self.leaving)
        has_sent_goaway = self._refused_since is not None and self._loop.time() > self._refused_since + RESUME_DELAY
        stops_http2 = (self.is_closed or self._is_ending) and not has_sent_goaway
        if stops_http2 != self.stops_http2:
            self.stops_http2 = stops_http2
            for passage in [*self.passages]:
                if passage.http2:
                    passage.stop_client(stops_http2)

    async def watch(self, context: ssl.SSLContext) -> None:
        """Probe the API server, for ever."""
        failing_since: float | None = None
        while True:
            began = self._loop.time()
            ready, body, refused_since = False, b"", self._refused_since
            try:
                async with asyncio.timeout(PROBE_TIMEOUT):
                    ready, body = await self._ask(context)
                self._answered_at, refused_since, failing_since = began, None, None
            except ConnectionRefusedError:
                refused_since = self._loop.time() if refused_since is None else refused_since
            except (OSError, ValueError, IndexError, EOFError, TimeoutError):
                self.hang_up()
                # Not from the last answer on: this process may have been stopped itself.
                failing_since = self._loop.time() if failing_since is None else failing_since
            self._is_hung = failing_since is not None and self._loop.time() > failing_since + HUNG_LIMIT
            if began < self._valid_from:
                self.hang_up()
                continue  # the answer may be that of an earlier process
            self._probed_at, self._refused_since = began, refused_since
            self.set_ready(ready, is_ending=_ENDING in body)
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
        """End the connection over which the API server is probed."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
