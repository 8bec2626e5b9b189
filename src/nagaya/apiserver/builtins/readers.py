"""Turns a client's object into the one that Go would write back, field by field, for objects that are in order.

Every struct becomes one function, made from its facts when it is first needed. The function drops what Go leaves out
(nulls, and empty values of fields marked `omitempty`), adds what Go always writes, and brings texts with a form into
that form. It does not explain: whatever is not in order raises `Unusual`, and `examine` finds the words for it. Parts
that need no change are shared with the client's object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.gotypes import GoField, GoList, GoMap, GoScalar, GoStruct, GoUntyped
from nagaya.apiserver.meta import base64text, quantity, times
from nagaya.apiserver.meta.jsonscan import Literal
from nagaya.apiserver.schema.types import Field, Omit, Type

Reader = Callable[[Any, list[str]], Any]
"""Takes a value that is not null, and a list for the names of unknown fields. Returns what Go would write."""

Zero = Callable[[], Any]
"""Makes what Go writes for a value that nobody has set."""


class Unusual(ValueError):
    """The object needs a closer look. Whether anything is wrong with it, only that can tell."""


class _Drop:
    """Stands for a member that is left out."""


DROP: Final = _Drop()


def reader(kind: Type) -> Reader:
    """The function that reads values of a type."""
    match kind:
        case GoStruct():
            return struct_reader(kind)
        case GoScalar():
            return _SCALARS[kind.format or kind.name]
        case GoUntyped():
            return _UNTYPED[kind.format]
        case GoList():
            return _list_reader(kind)
        case GoMap():
            return _map_reader(kind)
    raise TypeError(f"not a built-in type: {kind!r}")


def zero(kind: Type) -> Zero:
    """The function that makes a type's zero value."""
    if isinstance(kind, GoStruct):
        return _struct_zero(kind)
    if isinstance(kind, GoScalar):
        value = _ZEROS.get(kind.format or kind.name)
        return lambda: value
    return lambda: None


_ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "boolean": False,
    "int32": 0,
    "int64": 0,
    "double": 0,
    "quantity": "0",
    "int-or-string": 0,
}  # dates, bytes, lists, maps and raw values are written as null


@cache
def struct_reader(struct: GoStruct) -> Reader:
    """The function that reads a struct. Its parts are made at its first use: structs may contain themselves."""
    members: dict[str, Reader] = {}
    always: list[tuple[str, Zero]] = []
    prepared = False

    def prepare() -> None:
        nonlocal prepared
        members.update((name, _member(_go(field))) for name, field in struct.fields.items())
        always.extend(always_written(struct))
        prepared = True

    def read(value: Any, unknown: list[str]) -> Any:
        if not prepared:
            prepare()
        if value.__class__ is not dict:
            raise Unusual
        result = {}
        for name, item in value.items():
            member = members.get(name)
            if member is None:
                unknown.append(name)
                continue
            item = member(item, unknown)
            if item is not DROP:
                result[name] = item
        for name, make in always:
            if name not in result:
                result[name] = make()
        return result

    return read


def always_written(struct: GoStruct) -> list[tuple[str, Zero]]:
    """The members that Go writes even when nobody has set them."""
    found = []
    for name, field in struct.fields.items():
        if field.pointer:
            if field.omit is Omit.NEVER:
                found.append((name, lambda: None))
        elif field.omit is Omit.NEVER or (field.omit is Omit.EMPTY and is_struct(field.type)):
            found.append((name, zero(field.type)))
    return found


def is_struct(kind: Type) -> bool:
    """Whether Go sees a struct, which is never empty. That includes the types with a JSON form of their own."""
    if isinstance(kind, GoScalar):
        return kind.format in {"date-time", "micro-time", "quantity"} or kind.name == "int-or-string"
    return isinstance(kind, (GoStruct, GoUntyped))


@cache
def _struct_zero(struct: GoStruct) -> Zero:
    always: list[tuple[str, Zero]] | None = None

    def make() -> dict[str, Any]:
        nonlocal always
        if always is None:
            always = always_written(struct)
        return {name: make() for name, make in always}

    return make


def _go(field: Field) -> GoField:
    assert isinstance(field, GoField)
    return field


def _member(field: GoField) -> Reader:
    """The function that reads a member: it also decides whether the member is left out."""
    read = reader(field.type)
    if field.pointer:
        return _pointer(read, None if field.omit is Omit.NEVER else DROP)
    make = zero(field.type)
    if field.omit is Omit.NEVER or (field.omit is Omit.EMPTY and is_struct(field.type)):
        return lambda item, unknown: make() if item is None else read(item, unknown)
    fused = _FUSED.get(field.type.format or field.type.name) if isinstance(field.type, GoScalar) else None
    return fused or (lambda item, unknown: DROP if item is None else (read(item, unknown) or DROP))


def _pointer(read: Reader, null: Any) -> Reader:
    return lambda item, unknown: null if item is None else read(item, unknown)


def _list_reader(kind: GoList) -> Reader:
    element = kind.element
    if isinstance(element, GoScalar) and element.name == "string" and not element.format:
        return _strings
    read, make = reader(element), zero(element)

    def read_list(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not list:
            raise Unusual
        return [make() if item is None else read(item, unknown) for item in value]

    return read_list


def _strings(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is not list:
        raise Unusual
    for item in value:
        if item.__class__ is not str:
            if item is not None:
                raise Unusual
            return ["" if each is None else _string(each, unknown) for each in value]
    return value


def _map_reader(kind: GoMap) -> Reader:
    element = kind.element
    if isinstance(element, GoScalar) and element.name == "string" and not element.format:
        return _string_map
    read, make = reader(element), zero(element)

    def read_map(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not dict:
            raise Unusual
        return {key: make() if item is None else read(item, unknown) for key, item in value.items()}

    return read_map


def _string_map(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is not dict:
        raise Unusual
    for item in value.values():
        if item.__class__ is not str:
            if item is not None:
                raise Unusual
            return {key: "" if each is None else _string(each, unknown) for key, each in value.items()}
    return value


def _string(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return value
    raise Unusual


def _string_or_drop(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return value or DROP
    if value is None:
        return DROP
    raise Unusual


def _boolean(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is bool:
        return value
    raise Unusual


def _int32(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    raise Unusual


def _int64(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is int and -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise Unusual


def _double(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is int or isinstance(value, float):
        number = float(value)
        # Go writes whole numbers without a point, up to the size where it turns to exponents.
        return int(number) if number.is_integer() and abs(number) < 1e21 else number
    raise Unusual


def _bytes(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return base64text.canonical(value)
    if value.__class__ is not list or any(item.__class__ is not int and item is not None for item in value):
        raise Unusual
    try:
        return base64text.encode(bytes(item or 0 for item in value))  # Go takes a list of numbers, too
    except ValueError as error:
        raise Unusual from error


def _time(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return times.canonical(value)
    raise Unusual


def _micro_time(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return times.canonical_micro(value)
    raise Unusual


def _quantity(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is str:
        return quantity.canonical(value.strip())
    if value.__class__ is int:
        return quantity.canonical(str(value))
    if value.__class__ is Literal:
        return quantity.canonical(value.text)
    raise Unusual


def _int_or_string(value: Any, unknown: list[str]) -> Any:
    return value if value.__class__ is str else _int32(value, unknown)


def _raw(value: Any, unknown: list[str]) -> Any:
    return value


def _schema_or_bool(value: Any, unknown: list[str]) -> Any:
    return value if value.__class__ is bool else _schema(value)


def _schema_or_list(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is list:
        return [_schema({} if item is None else item) for item in value] or None
    # Go takes anything here, and forgets what is neither a list nor a schema.
    return _schema(value) if value.__class__ is dict else None


def _schema_or_strings(value: Any, unknown: list[str]) -> Any:
    if value.__class__ is list:
        return _strings(value, unknown) or None
    return _schema(value) if value.__class__ is dict else None


def _schema(value: Any) -> Any:
    # Unknown fields below such a place go unnoticed in the real server, too.
    return struct_reader(facts.struct_of("apiextensions/v1.JSONSchemaProps"))(value, [])


_SCALARS: Final[dict[str, Reader]] = {
    "string": _string,
    "boolean": _boolean,
    "int32": _int32,
    "int64": _int64,
    "double": _double,
    "byte": _bytes,
    "date-time": _time,
    "micro-time": _micro_time,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
}

# Scalars that are left out when empty: reading and deciding in one step, because most members are of this kind.
_FUSED: Final[dict[str, Reader]] = {"string": _string_or_drop}

_UNTYPED: Final[dict[str, Reader]] = {
    "raw": _raw,
    "fields": _raw,
    "json": _raw,
    "schema-or-bool": _schema_or_bool,
    "schema-or-list": _schema_or_list,
    "schema-or-strings": _schema_or_strings,
}
