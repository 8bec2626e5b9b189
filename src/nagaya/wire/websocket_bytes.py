"""Bytes in the binary messages of a WebSocket, whose borders mean nothing: what both sides make of frames."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.wire.malformed import Malformed
from nagaya.wire.websocket import Frame, FrameReader, Opcode


class Incoming:
    """What has come from the peer and was not taken yet."""

    def __init__(self, *, masked: bool) -> None:
        """`masked` says what is expected: True for a server."""
        self.closed: Frame | None = None
        """By which the peer has ended the connection, if it has."""
        self._frames = FrameReader(masked=masked)
        self._unread = bytearray()

    def __bool__(self) -> bool:
        return bool(self._unread)

    def feed(self, data: bytes) -> list[Frame]:
        """Take in what came. Returns what is to be answered. Raises Malformed."""
        answers = []
        for frame in self._frames.feed(data):
            match frame.opcode:
                case Opcode.BINARY | Opcode.CONTINUATION:
                    if self.closed is None:
                        self._unread += frame.payload
                case Opcode.PING:
                    answers.append(Frame(Opcode.PONG, frame.payload))
                case Opcode.CLOSE:
                    self.closed = frame
                case Opcode.TEXT:
                    raise Malformed("the peer sent text over a WebSocket that carries bytes")
                case Opcode.PONG:
                    pass
        return answers

    def take(self, limit: int) -> bytes:
        """The next bytes; none if there are none."""
        taken = bytes(self._unread[:limit])
        del self._unread[:limit]
        return taken


def outgoing(data: bytes, size: int) -> Iterator[Frame]:
    """Bytes as messages of no more than a size."""
    for begin in range(0, len(data), size):
        yield Frame(Opcode.BINARY, data[begin : begin + size])
