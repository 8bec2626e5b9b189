"""TCP as a stream."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from nagaya.kube.streams.stream import CHUNK, StreamBroken
from nagaya.sockets import Check, anywhere, connected

CLOSE_TIMEOUT: Final = 1.0  # seconds for what is on its way; after that it is thrown away


class TcpStream:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str) -> None:
        self._reader = reader
        self._writer = writer
        self._peer = peer

    @classmethod
    async def connect(cls, host: str, port: int, check: Check = anywhere) -> TcpStream:
        """Connect, to an address that passes the check. Raises OSError; takes as long as it is given."""
        reader, writer = await asyncio.open_connection(sock=await connected(host, port, check), limit=CHUNK)
        return cls(reader, writer, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end."""
        try:
            return await self._reader.read(limit)
        except OSError as error:
            raise self._broken(error) from error

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        if self._writer.is_closing():
            raise StreamBroken(f"the connection to {self._peer} has been closed")
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise self._broken(error) from error

    async def write_eof(self) -> None:
        """Send no more."""
        try:
            self._writer.write_eof()
        except (OSError, RuntimeError) as error:  # RuntimeError: the loop has noticed that it is closed
            raise self._broken(error) from error

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                with suppress(OSError):
                    await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()

    def _broken(self, error: Exception) -> StreamBroken:
        return StreamBroken(f"the connection to {self._peer} broke: {getattr(error, 'strerror', '') or error}")
