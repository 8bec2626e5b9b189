"""Types whose protobuf form is nothing like their JSON form: dates, quantities, ports that may be names, raw JSON.

Each function takes the range of such a message in a body and returns what Go writes for it as JSON.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.meta import jsontext, quantity, times
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.protobuf import wire


def time(data: bytes, start: int, end: int) -> str | None:
    """A date with whole seconds. An empty message is no date."""
    return times.seconds_text(times.Instant(_timestamp(data, start, end)[0])) if start < end else None


def micro_time(data: bytes, start: int, end: int) -> str | None:
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
            seconds = wire.signed(value, 64)
        elif number == 2:
            nanos = wire.signed(value, 32)
    return seconds, nanos


def amount(data: bytes, start: int, end: int) -> str:
    """A quantity."""
    text = "0"
    for number, kind, begin, after in wire.fields(data, start, end):
        if number == 1:
            if kind != wire.BYTES:
                raise wrong_type(kind, "String_")
            try:
                text = quantity.canonical(wire.text(data, begin, after))
            except quantity.QuantityError as error:
                raise DecodeError(str(error)) from error
    return text


def int_or_string(data: bytes, start: int, end: int) -> int | str:
    """A number or a text, whichever the message says it is."""
    form = whole = 0
    text = ""
    for number, kind, begin, after in wire.fields(data, start, end):
        if number in {1, 2, 3} and kind != (wire.BYTES if number == 3 else wire.VARINT):
            raise wrong_type(kind, {1: "Type", 2: "IntVal", 3: "StrVal"}[number])
        if number == 1:
            form = wire.signed(begin, 64)
        elif number == 2:
            whole = wire.signed(begin, 32)
        elif number == 3:
            text = wire.text(data, begin, after)
    if form not in {0, 1}:
        raise DecodeError("impossible IntOrString.Type")
    return text if form else whole


def raw_json(data: bytes, start: int, end: int) -> Any:
    """A JSON value, carried as its text."""
    carried: bytes | None = None
    for number, kind, begin, after in wire.fields(data, start, end):
        if number == 1:
            if kind != wire.BYTES:
                raise wrong_type(kind, "Raw")
            carried = data[begin:after]
    return jsontext.parse(carried)[0] if carried else None


def strings(data: bytes, start: int, end: int) -> list[str]:
    """A list of texts that is a message of its own."""
    found = []
    for number, kind, begin, after in wire.fields(data, start, end):
        if number == 1:
            if kind != wire.BYTES:
                raise wrong_type(kind, "Items")
            found.append(wire.text(data, begin, after))
    return found


def wrong_type(kind: int, field: str) -> DecodeError:
    """A field is written in another way than its number says."""
    return DecodeError(f"proto: wrong wireType = {kind} for field {field}")
