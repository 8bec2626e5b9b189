"""Ports of a pod over one session: Kubernetes' port-forward protocol.

Each forwarded connection is a pair of SPDY streams: one carries the data, the other the words of whoever failed behind
the API server. Those words become the error that the reader or writer of the data gets.
"""

from __future__ import annotations

import asyncio
from typing import Final

from nagaya.foreign_text import escape_line
from nagaya.kube.streams.session import SpdySession, SpdyStream
from nagaya.kube.streams.stream import CHUNK, StreamBroken

PROTOCOL: Final = "portforward.k8s.io"
TUNNEL_PROTOCOL: Final = f"SPDY/3.1+{PROTOCOL}"
"""The same, carried by a WebSocket."""
_MOST_WORDS: Final = 16 * 1024
_LAST_WORDS: Final = 1.0  # seconds; they come before the end of the data, if they come


class ForwardFailed(StreamBroken):
    """The port of the pod cannot be reached, or the connection to it failed. `words` are the node's."""

    def __init__(self, pod: str, port: int, words: str) -> None:
        words = escape_line(words, 1000)
        super().__init__(f"port {port} of pod {pod} failed: {words}")
        self.words = words


class PodSession:
    """A session with one pod."""

    def __init__(self, session: SpdySession, pod: str) -> None:
        self._session = session
        self._pod = pod
        self._requests = 0

    async def connect(self, port: int, *, alone: bool = False) -> PodStream:
        """A connection to a port; if it is `alone` in the session, closing it ends the session too. Raises
        StreamBroken."""
        request = str(self._requests)
        self._requests += 1
        headers = {"port": str(port), "requestid": request}
        errors = await self._session.open({"streamtype": "error", **headers})
        try:
            await errors.write_eof()
            data = await self._session.open({"streamtype": "data", **headers})
        except BaseException:
            errors.reset()
            raise
        return PodStream(self._pod, port, data, errors, self._session if alone else None)

    async def close(self) -> None:
        """End all connections."""
        await self._session.close()


class PodStream:
    """A connection to a port of a pod."""

    def __init__(self, pod: str, port: int, data: SpdyStream, errors: SpdyStream, session: SpdySession | None) -> None:
        self._pod = pod
        self._port = port
        self._data = data
        self._errors = errors
        self._session = session
        self._words = bytearray()
        self._listening = asyncio.create_task(self._listen(), name="port-forward errors")

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end. Raises StreamBroken."""
        data = await self._data.read(limit)
        if not data:
            await self._hear_out()
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes. Raises StreamBroken."""
        try:
            await self._data.write(data)
        except StreamBroken:
            await self._hear_out()
            raise

    async def write_eof(self) -> None:
        """Send no more. Raises StreamBroken."""
        try:
            await self._data.write_eof()
        except StreamBroken:
            await self._hear_out()
            raise

    async def close(self) -> None:
        """Let go of the connection."""
        self._data.reset()
        self._errors.reset()
        self._listening.cancel()
        try:
            await asyncio.gather(self._listening, return_exceptions=True)
        finally:
            if self._session is not None:
                await self._session.close()

    async def _hear_out(self) -> None:
        """The data has ended: if that was a failure, raise it."""
        await asyncio.wait([self._listening], timeout=_LAST_WORDS)
        if self._words:
            raise ForwardFailed(self._pod, self._port, self._words.decode(errors="replace").strip())
        if self._data.reset_status is not None:
            raise StreamBroken(f"the connection to port {self._port} of pod {self._pod} was reset")

    async def _listen(self) -> None:
        try:
            while data := await self._errors.read():
                self._words += data[: _MOST_WORDS - len(self._words)]
        except StreamBroken:
            return  # the data's reader and writer learn of it themselves
