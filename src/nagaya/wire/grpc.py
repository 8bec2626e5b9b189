"""What gRPC adds to HTTP/2: a prefix before each message, a status in the trailers, a deadline in the headers."""

from __future__ import annotations

from enum import IntEnum
from typing import Final
from urllib.parse import unquote_to_bytes

from nagaya.wire.malformed import Malformed

CONTENT_TYPE: Final = "application/grpc"
LARGEST_MESSAGE: Final = 64 * 1024 * 1024
PREFIX: Final = 5  # a flag for compression, and four bytes of length
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - {ord("%")}
_UNITS: Final = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "S": 1.0, "M": 60.0, "H": 3600.0}
_DIGITS: Final = 8


class Code(IntEnum):
    """How a call ended."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class MessageReader:
    """Cuts a stream of bytes into messages, however the bytes come."""

    def __init__(self, largest: int = LARGEST_MESSAGE) -> None:
        self._largest = largest
        self._buffer = bytearray()

    @property
    def partial(self) -> bool:
        """Whether the bytes so far end within a message."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete now. Raises Malformed."""
        self._buffer += data
        messages = []
        begin = 0
        while len(self._buffer) - begin >= PREFIX:
            size = int.from_bytes(self._buffer[begin + 1 : begin + PREFIX], "big")
            if self._buffer[begin]:
                raise Malformed("a gRPC message is compressed, which was not asked for")
            if size > self._largest:
                raise Malformed(f"a gRPC message has {size} bytes; {self._largest} are allowed")
            end = begin + PREFIX + size
            if len(self._buffer) < end:
                break
            messages.append(bytes(self._buffer[begin + PREFIX : end]))
            begin = end
        del self._buffer[:begin]
        return messages


def frame(message: bytes) -> bytes:
    """A message with its prefix."""
    return b"\x00" + len(message).to_bytes(4, "big") + message


def read_code(text: str) -> Code:
    """The value of `grpc-status`. One that nobody knows means that nothing is known."""
    try:
        return Code(int(text[:3]))
    except ValueError:
        return Code.UNKNOWN


def code_of_http(status: int) -> Code:
    """What an answer means that does not come from a gRPC server, but from something before it."""
    known = {400: Code.INTERNAL, 401: Code.UNAUTHENTICATED, 403: Code.PERMISSION_DENIED, 404: Code.UNIMPLEMENTED}
    return known.get(status, Code.UNAVAILABLE if status in (429, 502, 503, 504) else Code.UNKNOWN)


def encode_words(text: str) -> str:
    """The value of `grpc-message`."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode())


def decode_words(value: str) -> str:
    """What `grpc-message` says; broken escapes are left as they are."""
    return unquote_to_bytes(value).decode(errors="replace")


def encode_timeout(seconds: float) -> str:
    """The value of `grpc-timeout`: at most eight digits, so long ones are told in coarser units, rounded up."""
    for unit in ("u", "m", "S", "M", "H"):
        amount = -int(-max(seconds, 0.0) // _UNITS[unit])
        if amount < 10**_DIGITS:
            return f"{amount}{unit}"
    return f"{10**_DIGITS - 1}H"


def decode_timeout(value: str) -> float:
    """Seconds. Raises Malformed."""
    digits, unit = value[:-1], value[-1:]
    if unit not in _UNITS or not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS:
        raise Malformed("grpc-timeout is not up to eight digits and a unit")
    return int(digits) * _UNITS[unit]
