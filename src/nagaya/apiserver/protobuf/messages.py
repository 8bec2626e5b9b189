"""Turns protobuf messages into objects, by the field numbers of the built-in structs.

Every struct becomes one function, made from its facts when it is first needed. Protobuf does not tell an empty list
from none, and Go clients write every plain field even when it is empty, so the function drops and adds members by the
same rules as for JSON: the object that comes out is the one that Go would write.
"""

from __future__ import annotations

import struct as packing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from nagaya.apiserver.builtins import facts, readers
from nagaya.apiserver.builtins.gotypes import GoField, GoList, GoMap, GoScalar, GoStruct, GoUntyped
from nagaya.apiserver.meta import base64text
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.protobuf import special, wire
from nagaya.apiserver.schema.types import Omit, Type

Message = Callable[[bytes, int, int, int], Any]
"""Takes a body, the range of a message in it, and how deep it is nested."""

Number = Callable[[int], Any]
"""Takes the value of a varint."""

MAX_DEPTH: Final = 100
"""How deep messages may be nested. Real ones have about twenty levels; only schemas of custom resources have more."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What to do with a field: one of `message`, `number`, or `embedded` is set."""

    name: str
    message: Message | None = None
    number: Number | None = None
    embedded: _Table | None = None
    repeated: bool = False
    is_map: bool = False
    is_struct: bool = False
    fixed: bool = False
    drops_empty: bool = False

    @property
    def wire_type(self) -> int:
        return wire.FIXED64 if self.fixed else wire.VARINT if self.number else wire.BYTES


_Table = dict[int, _Entry]


@cache
def struct_message(struct: GoStruct) -> Message:
    """The function that reads a struct."""
    tables: list[_Table] = []
    always: list[tuple[str, readers.Zero]] = []

    def read(data: bytes, start: int, end: int, depth: int) -> Any:
        if not tables:
            always.extend(readers.always_written(struct))
            tables.append(_table(struct))
        if depth > MAX_DEPTH:
            raise DecodeError("proto: messages are nested too deep")
        result: dict[str, Any] = {}
        _read_into(result, tables[0], data, [(start, end)], depth)
        for name, make in always:
            if name not in result:
                result[name] = make()
        return result

    return read


def _read_into(
    result: dict[str, Any], table: _Table, data: bytes, ranges: Iterable[tuple[int, int]], depth: int
) -> None:
    # A message that is given in several parts is their concatenation: structs are read when all parts are known.
    parts: dict[int, list[tuple[int, int]]] = {}
    for start, end in ranges:
        position = start
        while position < end:
            tag = data[position]
            position += 1
            if tag >= 0x80:
                tag, position = wire.varint(data, position - 1, end)
            number, kind = tag >> 3, tag & 7
            entry = table.get(number)
            if entry is None:
                wire.check_tag(number, kind)
                position = wire.skip(data, kind, position, end)
            elif kind == wire.BYTES:
                if position < end and data[position] < 0x80:
                    begin = position + 1
                    position = begin + data[position]
                    if position > end:
                        raise wire.truncated()
                else:
                    begin, position = wire.length(data, position, end)
                if entry.message is not None and not entry.is_struct:
                    _take(result, entry, entry.message(data, begin, position, depth + 1))
                elif entry.number is not None and entry.repeated:
                    _take_packed(result, entry, data, begin, position)
                elif entry.number is None:
                    parts.setdefault(number, []).append((begin, position))
                else:
                    raise special.wrong_type(kind, _go_field(entry.name))
            elif kind == wire.VARINT and entry.number is not None and not entry.fixed:
                value, position = wire.varint(data, position, end)
                _take(result, entry, entry.number(value))
            elif kind == wire.FIXED64 and entry.fixed:
                if position + 8 > end:
                    raise wire.truncated()
                _take(result, entry, _double(data, position))
                position += 8
            else:
                raise special.wrong_type(kind, _go_field(entry.name))
    for number, found in parts.items():
        _take_parts(result, table[number], data, found, depth)


def _take(result: dict[str, Any], entry: _Entry, value: Any) -> None:
    if entry.is_map:
        result.setdefault(entry.name, {})[value[0]] = value[1]
    elif entry.repeated:
        result.setdefault(entry.name, []).append(value)
    elif value or not entry.drops_empty:
        result[entry.name] = value
    else:
        result.pop(entry.name, None)


def _take_packed(result: dict[str, Any], entry: _Entry, data: bytes, position: int, end: int) -> None:
    assert entry.number is not None
    while position < end:
        value, position = wire.varint(data, position, end)
        _take(result, entry, entry.number(value))


def _take_parts(result: dict[str, Any], entry: _Entry, data: bytes, parts: list[tuple[int, int]], depth: int) -> None:
    if entry.embedded is not None:
        _read_into(result, entry.embedded, data, parts, depth)
        return
    assert entry.message is not None
    if len(parts) == 1:
        result[entry.name] = entry.message(data, *parts[0], depth + 1)
    else:
        joined = b"".join(data[start:end] for start, end in parts)
        result[entry.name] = entry.message(joined, 0, len(joined), depth + 1)


def _table(struct: GoStruct) -> _Table:
    table: _Table = {}
    for name, field in struct.fields.items():
        assert isinstance(field, GoField)
        if field.number:
            here = table
            for number, embedding in zip(field.via_numbers, field.via, strict=True):
                entry = here.setdefault(number, _Entry(embedding, embedded={}))
                assert entry.embedded is not None
                here = entry.embedded
            here[field.number] = _entry(name, field)
    return table


def _entry(name: str, field: GoField) -> _Entry:
    drops_empty = not field.pointer and field.omit is not Omit.NEVER and not readers.is_struct(field.type)
    drops_empty = drops_empty or field.omit is Omit.ZERO
    kind = field.type
    if isinstance(kind, GoMap):
        return _Entry(name, _map_entry(kind.element), is_map=True)
    if isinstance(kind, GoList) and not kind.message:
        number = _number(kind.element)
        if number is not None:
            return _Entry(name, number=number, repeated=True)
        return _Entry(name, _message(kind.element), repeated=True)
    if isinstance(kind, GoScalar) and kind.name == "number":
        return _Entry(name, number=int, fixed=True, drops_empty=drops_empty)
    number = _number(kind)
    if number is not None:
        return _Entry(name, number=number, drops_empty=drops_empty)
    return _Entry(name, _message(kind), is_struct=isinstance(kind, GoStruct), drops_empty=drops_empty)


def _number(kind: Type) -> Number | None:
    if isinstance(kind, GoScalar):
        if kind.name == "boolean":
            return bool
        if kind.name == "integer":
            bits = 32 if kind.format == "int32" else 64
            return lambda value: wire.signed(value, bits)
    return None


def _message(kind: Type) -> Message:
    match kind:
        case GoStruct():
            return struct_message(kind)
        case GoList():
            return _STRINGS
        case GoScalar():
            return _SCALARS[kind.format or kind.name]
        case GoUntyped():
            return _UNTYPED[kind.format]
    raise TypeError(f"not part of any message: {kind!r}")


def _map_entry(element: Type) -> Message:
    """A pair of a map. What is missing in it is empty."""
    number = _number(element)
    value_message = None if number is not None else _message(element)
    make = (lambda: "") if isinstance(element, GoScalar) and element.format == "byte" else readers.zero(element)
    make = list if isinstance(element, GoList) else make

    def read(data: bytes, start: int, end: int, depth: int) -> tuple[str, Any]:
        key, value, given = "", None, False
        for field, kind, begin, after in wire.fields(data, start, end):
            if field == 1:
                if kind != wire.BYTES:
                    raise special.wrong_type(kind, "mapkey")
                key = wire.text(data, begin, after)
            elif field == 2:
                if kind != (wire.BYTES if value_message else wire.VARINT):
                    raise special.wrong_type(kind, "mapvalue")
                value = value_message(data, begin, after, depth) if value_message else number and number(begin)
                given = True
        return key, value if given else make()

    return read


def _plain(read: Callable[[bytes, int, int], Any]) -> Message:
    return lambda data, start, end, depth: read(data, start, end)


_STRINGS: Final = _plain(special.strings)
_SCALARS: Final[dict[str, Message]] = {
    "string": _plain(wire.text),
    "byte": lambda data, start, end, depth: base64text.encode(data[start:end]),
    "date-time": _plain(special.time),
    "micro-time": _plain(special.micro_time),
    "quantity": _plain(special.amount),
    "int-or-string": _plain(special.int_or_string),
}


def _schema_or(form: str) -> Message:
    """A schema of a custom resource, or what may stand in its place."""

    def read(data: bytes, start: int, end: int, depth: int) -> Any:
        schema_message = struct_message(facts.struct_of("apiextensions/v1.JSONSchemaProps"))
        schema, items, allows = None, [], False
        for number, kind, begin, after in wire.fields(data, start, end):
            if form == "bool" and number == 1:
                allows = kind == wire.VARINT and begin != 0
            elif kind == wire.BYTES and number == (2 if form == "bool" else 1):
                schema = schema_message(data, begin, after, depth)
            elif kind == wire.BYTES and number == 2 and form == "list":
                items.append(schema_message(data, begin, after, depth))
            elif kind == wire.BYTES and number == 2:
                items.append(wire.text(data, begin, after))
        return items or (schema if schema is not None or form != "bool" else allows)

    return read


_UNTYPED: Final[dict[str, Message]] = {
    "raw": _plain(special.raw_json),
    "fields": _plain(special.raw_json),
    "json": _plain(special.raw_json),
    "schema-or-bool": _schema_or("bool"),
    "schema-or-list": _schema_or("list"),
    "schema-or-strings": _schema_or("strings"),
}


def _double(data: bytes, position: int) -> Any:
    number: float = packing.unpack_from("<d", data, position)[0]
    if number != number or number in {float("inf"), float("-inf")}:
        raise DecodeError(f"json: unsupported value: {number}")
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


def _go_field(name: str) -> str:
    return "ObjectMeta" if name == "metadata" else name[:1].upper() + name[1:]
