"""A stream of bytes in both directions, whatever carries it."""

from __future__ import annotations

from typing import Final, Protocol

CHUNK: Final = 64 * 1024


class ByteStream(Protocol):
    """One reader and one writer may use it at the same time. A read can be cancelled without harm."""

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end. Raises ConnectionError."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes; waits while the peer takes none. Raises ConnectionError."""
        ...

    async def write_eof(self) -> None:
        """Send no more; reading goes on. Raises ConnectionError."""
        ...

    async def close(self) -> None:
        """Let go of everything. Never fails; a second time has no effect."""
        ...
