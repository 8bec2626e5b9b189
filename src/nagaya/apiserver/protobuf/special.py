"""Values whose protobuf form is not their JSON form: texts, bytes, dates, quantities, ports or their names, raw JSON.

Each function takes the range of such a value in a body and returns what Go writes for it as JSON. How deep the value is
nested does not matter to them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from nagaya.apiserver.meta import base64text, jsontext, quantity, times, utf8
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.protobuf import wire
from nagaya.apiserver.protobuf.table import Message

_DOUBLE: Final = struct.Struct("<d")
_INFINITE: Final = frozenset({float("inf"), float("-inf")})


def text(data: bytes, start: int, end: int, depth: int = 0) -> str:
    """A text. Bytes that are not UTF-8 are replaced, as they are when Go writes the object as JSON."""
    try:
        return data[start:end].decode()
    except UnicodeDecodeError:
        return utf8.read(data[start:end])


def octets(data: bytes, start: int, end: int, depth: int = 0) -> str:
    """Bytes."""
    return base64text.encode(data[start:end])


def double(data: bytes, position: int) -> Any:
    """A floating-point number. Whole ones lose their point, as they do when Go writes them."""
    number: float = _DOUBLE.unpack_from(data, position)[0]
    if number != number or number in _INFINITE:
        raise DecodeError(f"json: unsupported value: {number}")
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


def time(data: bytes, start: int, end: int, depth: int = 0) -> str | None:
    """A date with whole seconds. An empty message is no date."""
    return times.seconds_text(times.Instant(_timestamp(data, start, end)[0])) if start < end else None


def micro_time(data: bytes, start: int, end: int, depth: int = 0) -> str | None:
    """A date with microseconds."""
    if start == end:
        return None
    seconds, nanos = _timestamp(data, start, end)
    extra, nanos = divmod(int(nanos / 1000) * 1000, 1_000_000_000)
    return times.micros_text(times.Instant(seconds + extra, nanos))


def _timestamp(data: bytes, start: int, end: int) -> tuple[int, int]:
    seconds = nanos = 0
    for number, kind, value, _ in wire.fields(data, start, end):
        if number in {1, 2} and kind != wire.VARINT:
            raise wrong_type(kind, "Seconds" if number == 1 else "Nanos")
        if number == 1:
            seconds = wire.int64(value)
        elif number == 2:
            nanos = wire.int32(value)
    return seconds, nanos


def amount(data: bytes, start: int, end: int, depth: int = 0) -> str:
    """A quantity."""
    found = "0"
    for number, kind, begin, after in wire.fields(data, start, end):
        if number == 1:
            if kind != wire.BYTES:
                raise wrong_type(kind, "String_")
            try:
                found = quantity.canonical(text(data, begin, after))
            except quantity.QuantityError as error:
                raise DecodeError(str(error)) from error
    return found


def int_or_string(data: bytes, start: int, end: int, depth: int = 0) -> int | str:
    """A number or a text, whichever the message says it is."""
    form = whole = 0
    word = ""
    for number, kind, begin, after in wire.fields(data, start, end):
        if number in {1, 2, 3} and kind != (wire.BYTES if number == 3 else wire.VARINT):
            raise wrong_type(kind, {1: "Type", 2: "IntVal", 3: "StrVal"}[number])
        if number == 1:
            form = wire.int64(begin)
        elif number == 2:
            whole = wire.int32(begin)
        elif number == 3:
            word = text(data, begin, after)
    if form not in {0, 1}:
        raise DecodeError("impossible IntOrString.Type")
    return word if form else whole


def raw_json(data: bytes, start: int, end: int, depth: int = 0) -> Any:
    """A JSON value, carried as its text."""
    carried: bytes | None = None
    for number, kind, begin, after in wire.fields(data, start, end):
        if number == 1:
            if kind != wire.BYTES:
                raise wrong_type(kind, "Raw")
            carried = data[begin:after]
    return jsontext.parse(carried)[0] if carried else None


def strings(data: bytes, start: int, end: int, depth: int = 0) -> list[str]:
    """A list of texts that is a message of its own."""
    found = []
    for number, kind, begin, after in wire.fields(data, start, end):
        if number == 1:
            if kind != wire.BYTES:
                raise wrong_type(kind, "Items")
            found.append(text(data, begin, after))
    return found


def wrong_type(kind: int, field: str) -> DecodeError:
    """A field is written in another way than its number says."""
    return DecodeError(f"proto: wrong wireType = {kind} for field {field}")


SCALARS: Final[Mapping[str, Message]] = {
    "string": text,
    "byte": octets,
    "date-time": time,
    "micro-time": micro_time,
    "quantity": amount,
    "int-or-string": int_or_string,
}
"""What reads a scalar that is not a number, by its format or name."""
