"""Kubernetes' port-forward protocol, as a kubelet speaks it: pairs of SPDY streams, each a connection to a port.

Of each pair one stream carries the data; the other only the words of what failed, if something does. A pair may come
in any order and is told by a number that the client gives it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.streams.byte_stream import ByteStream
from nagaya.apiserver.streams.forwarder import PodPorts
from nagaya.apiserver.streams.spdy import SpdySession, SpdyStream

PROTOCOL: Final = "portforward.k8s.io"
PAIR_TIMEOUT: Final = 30.0  # seconds until the second stream of a pair must have come
_DATA: Final = "data"
_ERROR: Final = "error"
_HIGHEST: Final = 65535


@dataclass(slots=True)
class _Pair:
    request: str
    data: SpdyStream | None = None
    errors: SpdyStream | None = None
    late: asyncio.TimerHandle | None = None


class PortForwarding:
    """All connections of one client to the ports of one pod."""

    def __init__(self, ports: PodPorts, pod: str, uid: str, under: ByteStream) -> None:
        self._ports = ports
        self._pod = pod
        self._uid = uid
        self._pairs: dict[str, _Pair] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._session = SpdySession(under, self._accept)

    async def run(self) -> None:
        """Serve until the client goes or this is cancelled."""
        try:
            await self._session.run()
        finally:
            for pair in self._pairs.values():
                if pair.late is not None:
                    pair.late.cancel()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, stream: SpdyStream) -> bool:
        kind = stream.headers.get("streamtype", "")
        if _port(stream) is None or kind not in (_DATA, _ERROR):
            return False
        request = _request(stream, kind)
        pair = self._pairs.get(request)
        if pair is None:
            pair = self._pairs[request] = _Pair(request)
            pair.late = asyncio.get_running_loop().call_later(PAIR_TIMEOUT, self._give_up, pair)
        if (pair.data if kind == _DATA else pair.errors) is not None:
            return False
        if kind == _DATA:
            pair.data = stream
        else:
            pair.errors = stream
        if pair.data is not None and pair.errors is not None:
            self._begin(pair, pair.data, pair.errors)
        return True

    def _begin(self, pair: _Pair, data: SpdyStream, errors: SpdyStream) -> None:
        del self._pairs[pair.request]
        if pair.late is not None:
            pair.late.cancel()
        task = asyncio.create_task(self._connect(data, errors), name=f"port-forward {self._pod}")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def _give_up(self, pair: _Pair) -> None:
        self._pairs.pop(pair.request, None)
        for stream in (pair.data, pair.errors):
            if stream is not None:
                stream.reset()

    async def _connect(self, data: SpdyStream, errors: SpdyStream) -> None:
        port = _port(data) or 0
        try:
            await self._ports.serve(port, data)
        except OSError as error:
            words = f"error forwarding port {port} to pod {self._pod}, uid {self._uid}: {error}"
            try:
                await errors.write(words.encode())
                await errors.write_eof()
            except ConnectionError:
                return  # the client does not want to know
            data.reset()
        else:
            await data.close()
            await errors.close()


def _port(stream: SpdyStream) -> int | None:
    text = stream.headers.get("port", "")
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_HIGHEST)):
        return None
    return number if 1 <= (number := int(text)) <= _HIGHEST else None


def _request(stream: SpdyStream, kind: str) -> str:
    """Which pair a stream belongs to. Old clients do not say: theirs begin one after the other, the error's first."""
    return stream.headers.get("requestid") or f"#{stream.number if kind == _ERROR else stream.number - 2}"
