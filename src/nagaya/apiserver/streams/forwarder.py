"""What is behind the ports of pods: given to a server by whoever knows, asked by `pods/portforward`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from nagaya.apiserver.streams.byte_stream import ByteStream


class PodPorts(Protocol):
    """The ports of one pod."""

    async def serve(self, port: int, stream: ByteStream) -> None:
        """Speak with a client that has connected to a port, until one of both has enough. The stream is the caller's to
        close. Raises OSError, with words for the client, if the port cannot be reached or its connection fails."""
        ...


Forwarder = Callable[[str, str], Awaitable[PodPorts]]
"""The ports of the pod of a namespace and name, which exists and has a node. Raises OSError if that node cannot be
reached."""
