"""A stream of bytes in both directions, and what opens one to a pod.

Whoever speaks a protocol over a stream (TLS, HTTP/2) takes any: one through an API server, one over the network, or one
to a simulated pod in the same process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from nagaya.kube.connection import Connection

CHUNK: Final = 64 * 1024


class StreamBroken(Exception):
    """A stream ended without order: the peer vanished, broke the protocol, or was silent for too long."""


class Stream(Protocol):
    """One reader and one writer may use it at the same time. A read can be cancelled without harm; a write that is
    cancelled may have sent a part, so that nothing sensible can follow: such a stream is to be closed."""

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end. Raises StreamBroken."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes; waits while the peer takes none. Raises StreamBroken."""
        ...

    async def write_eof(self) -> None:
        """Send no more; reading goes on. Raises StreamBroken."""
        ...

    async def close(self) -> None:
        """Let go of everything, at once. Never fails; a second time has no effect."""
        ...


class Dialer(Protocol):
    """A way to the pods of one cluster."""

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        """A stream to a port of a pod. Raises ApiError if the API server refuses, NoAnswer if it cannot be asked, and
        StreamBroken (ForwardFailed) for what fails behind it."""
        ...


MakeDialer = Callable[[Connection], Dialer]
"""How to reach the pods of a tenant: through its API if it is real, directly if it is simulated in this process."""
