"""The frames of SPDY/3.1, as values and as bytes.

`FrameWriter` and `FrameReader` are the two directions of one connection; each keeps the state of the header
compression. Control frames of unknown types are skipped, as the protocol wants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from struct import Struct
from typing import Final

from nagaya.wire.malformed import Malformed
from nagaya.wire.spdy.headers import HeaderCompressor, HeaderDecompressor, Headers

VERSION: Final = 3
LARGEST_CONTROL: Final = 64 * 1024  # Kubernetes' own need a few hundred bytes
LARGEST_DATA: Final = 1024 * 1024  # a frame is held until it is complete; those of Kubernetes have 32 KiB
_LENGTH: Final = (1 << 24) - 1
INITIAL_WINDOW_SIZE: Final = 7  # the number of that setting
_HEAD: Final = Struct(">II")
_FIN: Final = 0x01
_UNIDIRECTIONAL: Final = 0x02
_31_BITS: Final = 0x7FFFFFFF


class Type(IntEnum):
    """The types of control frames."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GO_AWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class ResetStatus(IntEnum):
    """Why a stream was reset."""

    PROTOCOL_ERROR = 1
    INVALID_STREAM = 2
    REFUSED_STREAM = 3
    UNSUPPORTED_VERSION = 4
    CANCEL = 5
    INTERNAL_ERROR = 6
    FLOW_CONTROL_ERROR = 7
    STREAM_IN_USE = 8
    STREAM_ALREADY_CLOSED = 9
    INVALID_CREDENTIALS = 10
    FRAME_TOO_LARGE = 11


@dataclass(frozen=True, slots=True)
class SynStream:
    """A stream begins."""

    stream: int
    headers: Headers = field(default_factory=dict)
    fin: bool = False
    unidirectional: bool = False
    associated: int = 0
    priority: int = 0  # 0 to 7, lower is more urgent


@dataclass(frozen=True, slots=True)
class SynReply:
    """The stream of the peer is accepted."""

    stream: int
    headers: Headers = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class RstStream:
    """A stream ends at once, in both directions. The status is any number; `ResetStatus` has those with a meaning."""

    stream: int
    status: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What a peer wants to be known, by number."""

    values: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Ping:
    """Answered with the same; odd numbers are the client's."""

    number: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """No more streams are accepted."""

    last_stream: int
    status: int = 0


@dataclass(frozen=True, slots=True)
class MoreHeaders:
    """Headers after those that a stream began with (the frame HEADERS)."""

    stream: int
    headers: Headers = field(default_factory=dict)
    fin: bool = False


@dataclass(frozen=True, slots=True)
class WindowUpdate:
    """So many bytes more may be sent on a stream, or on the connection, which is stream 0."""

    stream: int
    delta: int


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream."""

    stream: int
    data: bytes = field(default=b"", repr=False)
    fin: bool = False


Frame = SynStream | SynReply | RstStream | Settings | Ping | GoAway | MoreHeaders | WindowUpdate | Data


class FrameWriter:
    """The sending direction."""

    def __init__(self) -> None:
        self._headers = HeaderCompressor()

    def encode(self, frame: Frame) -> bytes:
        """A frame as bytes, which must be sent in the order of the calls."""
        match frame:
            case Data(stream, data, fin):
                return _HEAD.pack(stream & _31_BITS, (_FIN if fin else 0) << 24 | len(data)) + data
            case SynStream(stream, headers, fin, unidirectional, associated, priority):
                flags = (_FIN if fin else 0) | (_UNIDIRECTIONAL if unidirectional else 0)
                body = _HEAD.pack(stream, associated) + bytes((priority << 5, 0)) + self._headers.encode(headers)
                return _control(Type.SYN_STREAM, flags, body)
            case SynReply(stream, headers, fin):
                return _control(Type.SYN_REPLY, _FIN if fin else 0, _number(stream) + self._headers.encode(headers))
            case MoreHeaders(stream, headers, fin):
                return _control(Type.HEADERS, _FIN if fin else 0, _number(stream) + self._headers.encode(headers))
            case RstStream(stream, status):
                return _control(Type.RST_STREAM, 0, _HEAD.pack(stream, status))
            case Settings(values):
                return _control(Type.SETTINGS, 0, _number(len(values)) + b"".join(_HEAD.pack(*each) for each in values))
            case Ping(number):
                return _control(Type.PING, 0, _number(number))
            case GoAway(last_stream, status):
                return _control(Type.GO_AWAY, 0, _HEAD.pack(last_stream, status))
            case WindowUpdate(stream, delta):
                return _control(Type.WINDOW_UPDATE, 0, _HEAD.pack(stream, delta))


class FrameReader:
    """The receiving direction: cuts a stream of bytes into frames, however the bytes come."""

    def __init__(self) -> None:
        self._headers = HeaderDecompressor()
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now. Raises Malformed, after which nothing more can be read."""
        self._buffer += data
        frames: list[Frame] = []
        begin = 0
        while len(self._buffer) - begin >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._buffer, begin)
            size, flags = second & _LENGTH, second >> 24
            if first >> 31:
                _check_control(first, size)
            elif size > LARGEST_DATA:
                raise Malformed(f"a SPDY data frame has {size} bytes; {LARGEST_DATA} are allowed")
            end = begin + _HEAD.size + size
            if len(self._buffer) < end:
                break
            body = bytes(self._buffer[begin + _HEAD.size : end])
            frame = self._frame(first & 0xFFFF, flags, body) if first >> 31 else _data(first, flags, body)
            if frame is not None:
                frames.append(frame)
            begin = end
        del self._buffer[:begin]
        return frames

    def _frame(self, kind: int, flags: int, body: bytes) -> Frame | None:
        fin = bool(flags & _FIN)
        match kind:
            case Type.SYN_STREAM:
                _at_least(10, body)
                stream, associated = _HEAD.unpack_from(body)
                headers = self._headers.decode(body[10:])
                one_way = bool(flags & _UNIDIRECTIONAL)
                return SynStream(_stream(stream), headers, fin, one_way, associated & _31_BITS, body[8] >> 5)
            case Type.SYN_REPLY:
                _at_least(4, body)
                return SynReply(_stream(_read(body)), self._headers.decode(body[4:]), fin)
            case Type.RST_STREAM:
                stream, status = _pair(body)
                return RstStream(_stream(stream), status)
            case Type.SETTINGS:
                return _settings(body)
            case Type.PING:
                _exactly(4, body)
                return Ping(_read(body))
            case Type.GO_AWAY:
                last, status = _pair(body)
                return GoAway(last & _31_BITS, status)
            case Type.HEADERS:
                _at_least(4, body)
                return MoreHeaders(_stream(_read(body)), self._headers.decode(body[4:]), fin)
            case Type.WINDOW_UPDATE:
                stream, delta = _pair(body)
                return WindowUpdate(stream & _31_BITS, delta & _31_BITS)
            case _:
                return None


def _check_control(first: int, size: int) -> None:
    version = first >> 16 & 0x7FFF
    if version != VERSION:
        raise Malformed(f"a SPDY frame is of version {version}, not {VERSION}")
    if size > LARGEST_CONTROL:
        raise Malformed(f"a SPDY control frame has {size} bytes; {LARGEST_CONTROL} are allowed")


def _data(stream: int, flags: int, body: bytes) -> Data:
    return Data(_stream(stream), body, bool(flags & _FIN))


def _settings(body: bytes) -> Settings:
    _at_least(4, body)
    count = _read(body)
    _exactly(4 + 8 * count, body)
    pairs = [_HEAD.unpack_from(body, 4 + 8 * each) for each in range(count)]
    return Settings(tuple((number & 0xFFFFFF, value) for number, value in pairs))


def _control(kind: int, flags: int, body: bytes) -> bytes:
    return _HEAD.pack(1 << 31 | VERSION << 16 | kind, flags << 24 | len(body)) + body


def _stream(number: int) -> int:
    if not number & _31_BITS:
        raise Malformed("a SPDY frame is of stream 0")
    return number & _31_BITS


def _pair(body: bytes) -> tuple[int, int]:
    _exactly(8, body)
    first, second = _HEAD.unpack(body)
    return first, second


def _read(body: bytes) -> int:
    return int.from_bytes(body[:4], "big")


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _at_least(size: int, body: bytes) -> None:
    if len(body) < size:
        raise Malformed(f"a SPDY control frame has {len(body)} bytes instead of {size} or more")


def _exactly(size: int, body: bytes) -> None:
    if len(body) != size:
        raise Malformed(f"a SPDY control frame has {len(body)} bytes instead of {size}")
