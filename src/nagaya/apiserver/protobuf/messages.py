"""Turns protobuf messages into objects, by the field numbers of the built-in structs.

Every struct becomes one function, made from its facts when it is first needed. Protobuf does not tell an empty list
from none, and Go clients write every plain field even when it is empty, so the function drops and adds members by the
same rules as for JSON: the object that comes out is the one that Go would write.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from nagaya.apiserver.builtins import facts, readers
from nagaya.apiserver.builtins.gotypes import GoField, GoList, GoMap, GoScalar, GoStruct, GoUntyped
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.protobuf import special, wire
from nagaya.apiserver.protobuf.table import Message, Number, Step, Table
from nagaya.apiserver.schema.types import Omit, Type

MAX_DEPTH: Final = 100
"""How deep messages may be nested. Real ones have about twenty levels; only schemas of custom resources have more."""


@cache
def struct_message(struct: GoStruct) -> Message:
    """The function that reads a struct."""
    tables: list[Table] = []
    always: list[tuple[str, readers.Zero]] = []

    def read(data: bytes, start: int, end: int, depth: int) -> Any:
        if not tables:
            always.extend(readers.always_written(struct))
            tables.append(_table(struct))
        if depth > MAX_DEPTH:
            raise DecodeError("proto: messages are nested too deep")
        result: dict[str, Any] = {}
        _read_into(result, tables[0], data, ((start, end),), depth + 1)
        for name, make in always:
            if name not in result:
                result[name] = make()
        return result

    return read


def _read_into(
    result: dict[str, Any], table: Table, data: bytes, ranges: Sequence[tuple[int, int]], depth: int
) -> None:
    steps = table.steps
    # A message that is given in several parts is their concatenation: structs are read when all parts are known.
    parts: dict[int, list[tuple[int, int]]] = {}
    for start, end in ranges:
        position = start
        while position < end:
            tag = data[position]
            position += 1
            if tag >= 0x80:
                tag, position = wire.varint(data, position - 1, end)
            found = steps.get(tag)
            if found is None:
                position = _unexpected(table, data, tag, position, end)
                continue
            step, name, read = found
            if step >= Step.NUMBER:
                position = _read_number(result, found, data, position, end)
                continue
            if position < end and data[position] < 0x80:
                begin = position + 1
                position = begin + data[position]
                if position > end:
                    raise wire.truncated()
            else:
                begin, position = wire.length(data, position, end)
            if step == Step.NONEMPTY:
                value = read(data, begin, position, depth)
                if value:
                    result[name] = value
                else:
                    result.pop(name, None)
            elif step == Step.PART:
                parts.setdefault(tag, []).append((begin, position))
            elif step == Step.PAIR:
                key, value = read(data, begin, position, depth)
                result.setdefault(name, {})[key] = value
            elif step == Step.ITEM:
                result.setdefault(name, []).append(read(data, begin, position, depth))
            elif step == Step.VALUE:
                result[name] = read(data, begin, position, depth)
            else:
                while begin < position:
                    packed, begin = wire.varint(data, begin, position)
                    result.setdefault(name, []).append(read(packed))
    for tag, known in parts.items():
        _, name, read = steps[tag]
        if isinstance(read, Table):
            _read_into(result, read, data, known, depth)
        elif len(known) == 1:
            result[name] = read(data, *known[0], depth)
        else:
            joined = b"".join(data[start:end] for start, end in known)
            result[name] = read(joined, 0, len(joined), depth)


def _read_number(result: dict[str, Any], found: tuple[int, str, Any], data: bytes, position: int, end: int) -> int:
    step, name, read = found
    if step >= Step.FIXED:
        if position + 8 > end:
            raise wire.truncated()
        value = special.double(data, position)
        position += 8
    else:
        if position < end and data[position] < 0x80:
            raw, position = data[position], position + 1
        else:
            raw, position = wire.varint(data, position, end)
        value = read(raw)
    if step == Step.NUMBER_ITEM:
        result.setdefault(name, []).append(value)
    elif value or step in {Step.NUMBER, Step.FIXED}:
        result[name] = value
    else:
        result.pop(name, None)
    return position


def _unexpected(table: Table, data: bytes, tag: int, position: int, end: int) -> int:
    """The position after a field that the struct does not have, at least not in this form."""
    number, kind = tag >> 3, tag & 7
    wire.check_tag(number, kind)
    if number in table.names:
        raise special.wrong_type(kind, table.names[number])
    return wire.skip(data, kind, position, end)


def _table(struct: GoStruct) -> Table:
    table = Table()
    for name, field in struct.fields.items():
        assert isinstance(field, GoField)
        if field.number:
            here = table
            for number, embedding in zip(field.via_numbers, field.via, strict=True):
                here = here.embedded(number, embedding)
            _add(here, name, field)
    return table


def _add(table: Table, name: str, field: GoField) -> None:
    kind, at = field.type, field.number
    drops = field.omit is Omit.ZERO or not (field.pointer or field.omit is Omit.NEVER or readers.is_struct(kind))
    number = _number(kind)
    if isinstance(kind, GoMap):
        table.add(at, wire.BYTES, Step.PAIR, name, _pair(kind.element))
    elif isinstance(kind, GoList) and not kind.message:
        number = _number(kind.element)
        if number is None:
            table.add(at, wire.BYTES, Step.ITEM, name, _message(kind.element))
        else:
            table.add(at, wire.VARINT, Step.NUMBER_ITEM, name, number)
            table.add(at, wire.BYTES, Step.PACKED, name, number)
    elif isinstance(kind, GoScalar) and kind.name == "number":
        table.add(at, wire.FIXED64, Step.FIXED_NONEMPTY if drops else Step.FIXED, name, None)
    elif number is not None:
        table.add(at, wire.VARINT, Step.NUMBER_NONEMPTY if drops else Step.NUMBER, name, number)
    elif isinstance(kind, GoStruct):
        table.add(at, wire.BYTES, Step.PART, name, struct_message(kind))
    else:
        table.add(at, wire.BYTES, Step.NONEMPTY if drops else Step.VALUE, name, _message(kind))


def _number(kind: Type) -> Number | None:
    if isinstance(kind, GoScalar):
        if kind.name == "boolean":
            return bool
        if kind.name == "integer":
            return wire.int32 if kind.format == "int32" else wire.int64
    return None


def _message(kind: Type) -> Message:
    match kind:
        case GoStruct():
            return struct_message(kind)
        case GoList():
            return special.strings
        case GoScalar():
            return special.SCALARS[kind.format or kind.name]
        case GoUntyped() if kind.format in _SCHEMA_OR:
            return _schema_or(kind.format)
        case GoUntyped():
            return special.raw_json
    raise TypeError(f"not part of any message: {kind!r}")


def _pair(element: Type) -> Message:
    """A pair of a map. What is missing in it is empty."""
    number = _number(element)
    read = None if number is not None else _message(element)
    make = (lambda: "") if isinstance(element, GoScalar) and element.format == "byte" else readers.zero(element)
    make = list if isinstance(element, GoList) else make

    def read_pair(data: bytes, start: int, end: int, depth: int) -> tuple[str, Any]:
        key, value, given = "", None, False
        for field, kind, begin, after in wire.fields(data, start, end):
            if field == 1:
                if kind != wire.BYTES:
                    raise special.wrong_type(kind, "mapkey")
                key = special.text(data, begin, after, depth)
            elif field == 2:
                if kind != (wire.VARINT if read is None else wire.BYTES):
                    raise special.wrong_type(kind, "mapvalue")
                value = number and number(begin) if read is None else read(data, begin, after, depth)
                given = True
        return key, value if given else make()

    return read_pair


_SCHEMA_OR: Final = {"schema-or-bool": "bool", "schema-or-list": "list", "schema-or-strings": "strings"}


@cache
def _schema_or(form: str) -> Message:
    """A schema of a custom resource, or what may stand in its place."""
    other = _SCHEMA_OR[form]

    def read(data: bytes, start: int, end: int, depth: int) -> Any:
        read_schema = struct_message(facts.struct_of("apiextensions/v1.JSONSchemaProps"))
        schema, items, allows = None, [], False
        for number, kind, begin, after in wire.fields(data, start, end):
            if other == "bool" and number == 1:
                allows = kind == wire.VARINT and begin != 0
            elif kind == wire.BYTES and number == (2 if other == "bool" else 1):
                schema = read_schema(data, begin, after, depth)
            elif kind == wire.BYTES and number == 2:
                items.append((read_schema if other == "list" else special.text)(data, begin, after, depth))
        return items or (schema if schema is not None or other != "bool" else allows)

    return read
