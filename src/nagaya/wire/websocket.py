"""WebSocket frames (RFC 6455) and the handshake's answer.

The least that carries a stream of bytes: binary messages in any number of fragments, pings, and an orderly end. No
extensions. A client masks what it sends, a server does not, and each refuses the opposite.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from nagaya.wire.malformed import Malformed

LARGEST_FRAME: Final = 256 * 1024  # a frame is held until it is complete; those of Kubernetes have 32 KiB
NORMAL_CLOSURE: Final = 1000
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LARGEST_CONTROL: Final = 125


class Opcode(IntEnum):
    """What a frame holds."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10

    @property
    def control(self) -> bool:
        """Whether it may come between the fragments of a message."""
        return self >= Opcode.CLOSE


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame without its mask."""

    opcode: Opcode
    payload: bytes = b""
    final: bool = True


def accept_key(key: str) -> str:
    """What a server must answer to a client's `Sec-WebSocket-Key`, to show that it speaks WebSocket."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()).decode()


def encode(frame: Frame, mask: bytes = b"") -> bytes:
    """A frame as it is sent; clients give four unpredictable bytes as the mask."""
    size = len(frame.payload)
    masked = 0x80 if mask else 0
    head = bytearray(((0x80 if frame.final else 0) | frame.opcode,))
    if size < 126:
        head.append(masked | size)
    elif size < 1 << 16:
        head.append(masked | 126)
        head += size.to_bytes(2, "big")
    else:
        head.append(masked | 127)
        head += size.to_bytes(8, "big")
    return bytes(head) + mask + (_masked(frame.payload, mask) if mask else frame.payload)


def encode_close(code: int = NORMAL_CLOSURE, reason: str = "") -> Frame:
    """The frame that ends a connection."""
    return Frame(Opcode.CLOSE, code.to_bytes(2, "big") + reason.encode()[: _LARGEST_CONTROL - 2])


def decode_close(frame: Frame) -> tuple[int, str]:
    """Why a peer ends the connection; 1005 is the code of those that do not say. Raises Malformed."""
    if not frame.payload:
        return 1005, ""
    if len(frame.payload) == 1:
        raise Malformed("a WebSocket was closed with half a code")
    return int.from_bytes(frame.payload[:2], "big"), frame.payload[2:].decode(errors="replace")


class FrameReader:
    """Cuts a stream of bytes into frames, however the bytes come."""

    def __init__(self, *, masked: bool, largest: int = LARGEST_FRAME) -> None:
        """`masked` says what is expected: True for a server."""
        self._masked = masked
        self._largest = largest
        self._buffer = bytearray()
        self._within_message = False

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now. Raises Malformed."""
        self._buffer += data
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        opcode = self._opcode(buffer[0], buffer[1])
        size, position = buffer[1] & 0x7F, 2
        if size > 125:
            position = 4 if size == 126 else 10
            if len(buffer) < position:
                return None
            size = int.from_bytes(buffer[2:position], "big")
        if size > self._largest:
            raise Malformed(f"a WebSocket frame has {size} bytes; {self._largest} are allowed")
        begin = position + (4 if self._masked else 0)
        if len(buffer) < begin + size:
            return None
        payload = bytes(buffer[begin : begin + size])
        if self._masked:
            payload = _masked(payload, bytes(buffer[position:begin]))
        final = bool(buffer[0] & 0x80)
        del buffer[: begin + size]
        if not opcode.control:
            self._within_message = not final
        return Frame(opcode, payload, final)

    def _opcode(self, first: int, second: int) -> Opcode:
        if first & 0x70:
            raise Malformed("a WebSocket frame uses an extension that was not agreed on")
        try:
            opcode = Opcode(first & 0x0F)
        except ValueError:
            raise Malformed(f"a WebSocket frame has the unknown opcode {first & 0x0F}") from None
        if bool(second & 0x80) != self._masked:
            raise Malformed(f"a WebSocket frame is {'not ' if self._masked else ''}masked")
        if opcode.control and (not first & 0x80 or second & 0x7F > _LARGEST_CONTROL):
            raise Malformed("a WebSocket control frame is fragmented or too long")
        if not opcode.control and (opcode is Opcode.CONTINUATION) != self._within_message:
            raise Malformed("the fragments of a WebSocket message are out of order")
        return opcode


def _masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
