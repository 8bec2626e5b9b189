"""The far side of a port-forward: what a kubelet does, over any stream, as well or as badly as a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.wire.spdy.connection import Ended, Event, Opened, Received, SpdyConnection, WasReset

Behave = Callable[["PodPorts", int, int, Event], Awaitable[None]]
"""Called with the data stream, the error stream and each event of the data stream, its opening first."""


async def echo(ports: PodPorts, data: int, errors: int, event: Event) -> None:
    """Send back what comes, and end when it does."""
    if isinstance(event, Received):
        await ports.send(data, event.data)
    elif isinstance(event, Ended):
        await ports.send(errors, b"", fin=True)
        await ports.send(data, b"", fin=True)


async def refuse(ports: PodPorts, data: int, errors: int, event: Event) -> None:
    """Fail as a kubelet does when nobody listens."""
    if isinstance(event, Opened):
        await ports.send(errors, b"error forwarding port 1: connection refused")
        ports.spdy.reset(data)
        ports.spdy.reset(errors)
        await ports.flush()


class PodPorts:
    """Serves one session."""

    def __init__(self, under: Stream, behave: Behave = echo, *, windows: bool = False) -> None:
        self.under = under
        self.behave = behave
        self.spdy = SpdyConnection(client=False)
        self.requests: list[dict[str, str]] = []
        self.resets: list[int] = []
        self._pairs: dict[str, dict[str, int]] = {}
        self._by_data: dict[int, int] = {}
        self._room = asyncio.Event()
        if windows:
            self.spdy.announce_windows()

    async def serve(self) -> None:
        """Until the other side hangs up."""
        await self.flush()
        try:
            while data := await self.under.read():
                for event in self.spdy.receive(data):
                    await self._take(event)
                await self.flush()
        except StreamBroken:
            return
        await self.under.close()

    async def send(self, stream: int, data: bytes, *, fin: bool = False) -> None:
        """Send on a stream, if it is still there."""
        if self.spdy.is_open(stream):
            self.spdy.send(stream, data, fin=fin)
            await self.flush()

    async def flush(self) -> None:
        """Send what there is to send."""
        if data := self.spdy.outgoing():
            await self.under.write(data)

    async def _take(self, event: Event) -> None:
        match event:
            case Opened(stream, headers):
                self.requests.append(dict(headers))
                self.spdy.reply(stream)
                pair = self._pairs.setdefault(headers["requestid"], {})
                pair[headers["streamtype"]] = stream
                if len(pair) == 2:
                    self._by_data[pair["data"]] = pair["error"]
                    await self.behave(self, pair["data"], pair["error"], Opened(pair["data"], headers))
            case Received(stream, data):
                self.spdy.consumed(stream, len(data))
                if stream in self._by_data:
                    await self.behave(self, stream, self._by_data[stream], event)
            case Ended(stream) if stream in self._by_data:
                await self.behave(self, stream, self._by_data[stream], event)
            case WasReset(stream, _):
                self.resets.append(stream)
            case _:
                pass
