"""Protobuf's wire format: tags, varints and lengths.

A message is a range of a body; nothing is copied until a value is taken out. Whatever is malformed raises DecodeError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.decode_error import DecodeError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
_START_GROUP: Final = 3
_END_GROUP: Final = 4
_FIXED32: Final = 5

_MOST_GROUPS: Final = 100


def truncated() -> DecodeError:
    """The body ends inside a value."""
    return DecodeError("unexpected EOF")


def varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and the position after it."""
    if position < end and data[position] < 0x80:
        return data[position], position + 1
    value = shift = 0
    while shift < 64:
        if position >= end:
            raise truncated()
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
    raise DecodeError("proto: integer overflow")


def length(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The range of a value that says its length."""
    size, begin = varint(data, position, end)
    if size >= 1 << 63:
        raise DecodeError("proto: negative length found during unmarshaling")
    if size > end - begin:
        raise truncated()
    return begin, begin + size


def skip(data: bytes, wire_type: int, position: int, end: int) -> int:
    """The position after a value that nobody asked for."""
    groups = 0
    while True:
        if wire_type == VARINT:
            position = varint(data, position, end)[1]
        elif wire_type == FIXED64:
            position += 8
        elif wire_type == BYTES:
            position = length(data, position, end)[1]
        elif wire_type == _FIXED32:
            position += 4
        elif wire_type == _START_GROUP:
            groups += 1
        elif wire_type == _END_GROUP:
            groups -= 1
        else:
            raise DecodeError(f"proto: illegal wireType {wire_type}")
        if position > end:
            raise truncated()
        if groups < 0:
            raise DecodeError("proto: unexpected end of group")
        if groups == 0:
            return position
        if groups > _MOST_GROUPS:
            raise DecodeError("proto: groups are nested too deep")
        tag, position = varint(data, position, end)
        wire_type = tag & 7


def fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message: number, wire type, and a range; for a varint its value in place of the range's begin."""
    position = start
    while position < end:
        tag, position = varint(data, position, end)
        number, wire_type = tag >> 3, tag & 7
        check_tag(number, wire_type)
        if wire_type == VARINT:
            value, position = varint(data, position, end)
            yield number, wire_type, value, position
        elif wire_type == BYTES:
            begin, position = length(data, position, end)
            yield number, wire_type, begin, position
        else:
            position = skip(data, wire_type, position, end)
            yield number, wire_type, position, position


def check_tag(number: int, wire_type: int) -> None:
    """Refuse what cannot stand before a field."""
    if wire_type == _END_GROUP:
        raise DecodeError("proto: wiretype end group for non-group")
    if not 0 < number < 1 << 31:
        raise DecodeError(f"proto: illegal tag {number} (wire type {wire_type})")


def int64(value: int) -> int:
    """A number with its sign."""
    return value - (1 << 64) if value >> 63 else value


def int32(value: int) -> int:
    """The lowest 32 bits of a number, with their sign."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
