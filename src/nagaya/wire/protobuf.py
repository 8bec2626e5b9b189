"""Protobuf for messages that are declared as types.

A message is a frozen struct whose fields carry their numbers:

    class Member(Message, frozen=True):
        id: Annotated[UInt64, 1] = 0
        name: Annotated[str, 2] = ""
        peer_urls: Annotated[tuple[str, ...], 3] = ()

As in proto3, a field that has its zero value is not sent, and one that did not come has it. A field of type `X | None`
is sent whenever it is not None: that is how members of a `oneof` are declared. Unknown fields are skipped and unknown
values of enumerations kept, so that newer peers are understood.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from typing import Annotated, Any, Final, Self, TypeVar

import msgspec

from nagaya.wire.malformed import Malformed

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
DEEPEST: Final = 32  # messages within messages


class Width(Enum):
    """How an int is written; Python's type alone does not say."""

    UINT64 = "uint64"
    INT64 = "int64"


UInt64 = Annotated[int, Width.UINT64]
Int64 = Annotated[int, Width.INT64]


class Enumeration(IntEnum):
    """An enumeration that may get more values than are known here."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_ = f"UNKNOWN_{value}"
        unknown._value_ = value
        return unknown


class Message(msgspec.Struct, frozen=True):
    """What has numbered fields."""


M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    tag: bytes  # as it is written
    repeated: bool
    explicit: bool  # sent even if it is zero
    scalar: bool  # on the wire a varint, several of which can be packed
    encode: Callable[[Any], bytes]  # of one value, length included
    decode: Callable[[int | bytes, int], Any]  # of one value; the second is how deep it is


def encode(message: Message) -> bytes:
    """A message as bytes. Raises ValueError for a number that its field cannot hold."""
    parts: list[bytes] = []
    for field in _fields(type(message)).values():
        value = getattr(message, field.name)
        if field.repeated:
            if field.scalar and value:
                packed = b"".join(map(field.encode, value))
                parts += (_tag(_number(field.tag), BYTES), encode_varint(len(packed)), packed)
            else:
                for each in value:
                    parts += (field.tag, field.encode(each))
        elif (value is not None) if field.explicit else value:
            parts += (field.tag, field.encode(value))
    return b"".join(parts)


def decode(kind: type[M], data: bytes) -> M:
    """Bytes as a message. Raises Malformed."""
    return _decode(kind, data, 0)


def encode_varint(value: int) -> bytes:
    """A number from 0 to 2**64 - 1."""
    if value < 0x80:
        return bytes((value,))
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def decode_varint(data: bytes, position: int) -> tuple[int, int]:
    """A number of up to 64 bits, and where it ends. Raises Malformed."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise Malformed("a protobuf message ends within a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, position
    raise Malformed("a protobuf message has a number of more than 64 bits")


def _decode(kind: type[M], data: bytes, depth: int) -> M:
    if depth > DEEPEST:
        raise Malformed(f"protobuf messages are nested more than {DEEPEST} deep")
    fields = _fields(kind)
    found: dict[str, Any] = {}
    position = 0
    while position < len(data):
        tag, position = decode_varint(data, position)
        wire_type, value, position = _value(data, position, tag & 7)
        if not 0 < tag >> 3 < 1 << 29:
            raise Malformed(f"a protobuf message has a field of number {tag >> 3}")
        field = fields.get(tag >> 3)
        if field is None:
            continue
        if field.repeated and field.scalar and wire_type == BYTES:
            found.setdefault(field.name, []).extend(field.decode(each, depth) for each in _unpacked(value))
        elif wire_type != (VARINT if field.scalar else BYTES):
            raise Malformed(f"field {field.name} of {kind.__name__} has wire type {wire_type}")
        elif field.repeated:
            found.setdefault(field.name, []).append(field.decode(value, depth))
        else:
            found[field.name] = field.decode(value, depth)
    for name, value in found.items():
        if isinstance(value, list):
            found[name] = tuple(value)
    return kind(**found)


def _value(data: bytes, position: int, wire_type: int) -> tuple[int, int | bytes, int]:
    if wire_type == VARINT:
        number, position = decode_varint(data, position)
        return wire_type, number, position
    if wire_type == BYTES:
        size, position = decode_varint(data, position)
    elif wire_type in (FIXED32, FIXED64):
        size = 4 if wire_type == FIXED32 else 8
    else:
        raise Malformed(f"a protobuf message has a field of wire type {wire_type}")
    if size > len(data) - position:
        raise Malformed("a protobuf message ends within a field")
    return wire_type, data[position : position + size], position + size


def _unpacked(value: int | bytes) -> list[int]:
    assert isinstance(value, bytes)
    numbers, position = [], 0
    while position < len(value):
        number, position = decode_varint(value, position)
        numbers.append(number)
    return numbers


@cache
def _fields(kind: type[Message]) -> dict[int, _Field]:
    """The fields of a kind by number, in the order of their numbers, as others write them too."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = [_field(name, hints[name]) for name in kind.__struct_fields__]
    return dict(sorted(found, key=lambda each: each[0]))


def _field(name: str, hint: Any) -> tuple[int, _Field]:
    number = next(each for each in hint.__metadata__ if type(each) is int)
    width = next((each for each in hint.__metadata__ if isinstance(each, Width)), None)
    kind = hint.__origin__
    repeated = typing.get_origin(kind) is tuple
    explicit = typing.get_origin(kind) in (types.UnionType, typing.Union)
    if repeated:
        kind = typing.get_args(kind)[0]
    elif explicit:
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    if typing.get_origin(kind) is Annotated:
        width = kind.__metadata__[0]
        kind = kind.__origin__
    scalar = issubclass(kind, int)
    encoder, decoder = _codec(kind, width)
    return number, _Field(name, _tag(number, VARINT if scalar else BYTES), repeated, explicit, scalar, encoder, decoder)


def _codec(kind: type[Any], width: Width | None) -> tuple[Callable[[Any], bytes], Callable[[Any, int], Any]]:
    if issubclass(kind, Message):
        return lambda value: _sized(encode(value)), lambda value, depth: _decode(kind, value, depth + 1)
    if kind is str:
        return lambda value: _sized(value.encode()), lambda value, _: _text(value)
    if kind is bytes:
        return _sized, lambda value, _: value
    if kind is bool:
        return lambda value: b"\x01" if value else b"\x00", lambda value, _: value != 0
    if issubclass(kind, Enumeration):
        return _signed, lambda value, _: kind(_from_twos_complement(value & 0xFFFFFFFF, 32))
    if width is Width.UINT64:
        return _unsigned, lambda value, _: value
    if width is Width.INT64:
        return _signed, lambda value, _: _from_twos_complement(value, 64)
    raise TypeError(f"{kind} cannot be a field of a message")


def _unsigned(value: int) -> bytes:
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{value} is not a number of 64 bits without sign")
    return encode_varint(value)


def _signed(value: int) -> bytes:
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{value} is not a number of 64 bits with sign")
    return encode_varint(value & 0xFFFFFFFFFFFFFFFF)


def _from_twos_complement(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _sized(value: bytes) -> bytes:
    return encode_varint(len(value)) + value


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Malformed("a protobuf message has text that is not UTF-8") from None


def _tag(number: int, wire_type: int) -> bytes:
    return encode_varint(number << 3 | wire_type)


def _number(tag: bytes) -> int:
    return decode_varint(tag, 0)[0] >> 3
