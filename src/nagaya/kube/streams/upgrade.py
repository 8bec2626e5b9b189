"""A request over a fresh connection that asks for another protocol than HTTP.

What always holds: the bytes after the head of the answer belong to the new protocol and are kept, and an answer that is
no is read as a whole, within limits, because it says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.kube.streams.stream import CHUNK, Stream, StreamBroken

SWITCHING: Final = 101
_LARGEST_HEAD: Final = 64 * 1024
_LARGEST_BODY: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Response:
    """What the server said. Names of headers are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes
    """Of a refusal."""


class ConnectionReader:
    """A stream some of whose bytes have been read already."""

    def __init__(self, under: Stream) -> None:
        self._under = under
        self.unread = b""

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end."""
        if self.unread:
            data, self.unread = self.unread[:limit], self.unread[limit:]
            return data
        return await self._under.read(limit)

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        await self._under.write(data)

    async def write_eof(self) -> None:
        """Send no more."""
        await self._under.write_eof()

    async def close(self) -> None:
        """Let go of the connection."""
        await self._under.close()


async def request(
    stream: ConnectionReader, method: str, target: str, headers: Iterable[tuple[str, str]], *, success: int = SWITCHING
) -> Response:
    """Ask, and read the answer. After a success the stream is at the first byte of what follows. Raises StreamBroken
    for an answer that is not HTTP."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if any("\r" in line or "\n" in line for line in lines):
        raise StreamBroken("a header to be sent has a line break in it")
    await stream.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    status, answered = _head(await _until(stream, b"\r\n\r\n", _LARGEST_HEAD))
    while 100 <= status < 200 and status != success:
        status, answered = _head(await _until(stream, b"\r\n\r\n", _LARGEST_HEAD))
    body = b"" if status == success else await _body(stream, answered)
    return Response(status, answered, body)


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if not version.startswith("HTTP/1.") or not status.isascii() or not status.isdigit() or len(status) != 3:
        raise StreamBroken("the server did not answer in HTTP")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return int(status), headers


async def _body(stream: ConnectionReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = b""
        while (size := _size(await _until(stream, b"\r\n", _LARGEST_HEAD), 16)) and len(body) < _LARGEST_BODY:
            body += await _exactly(stream, min(size, _LARGEST_BODY))
            await _exactly(stream, 2)
        return body
    length = _size(headers.get("content-length", "0").encode(), 10)
    return await _exactly(stream, min(length, _LARGEST_BODY))


def _size(text: bytes, base: int) -> int:
    try:
        return int(text.partition(b";")[0].strip(), base)
    except ValueError:
        raise StreamBroken("the server did not say how long its answer is") from None


async def _until(stream: ConnectionReader, separator: bytes, limit: int) -> bytes:
    buffer = b""
    while separator not in buffer:
        if len(buffer) > limit:
            raise StreamBroken(f"the head of the server's answer has more than {limit} bytes")
        data = await stream.read()
        if not data:
            raise StreamBroken("the server hung up before it answered")
        buffer += data
    found, _, rest = buffer.partition(separator)
    stream.unread = rest + stream.unread
    return found


async def _exactly(stream: ConnectionReader, size: int) -> bytes:
    body = b""
    while len(body) < size:
        data = await stream.read(size - len(body))
        if not data:
            break  # what there is of the explanation is better than none
        body += data
    return body
