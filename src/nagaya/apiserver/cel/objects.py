"""JSON data seen through its schema: what an expression gets when it asks a custom resource for a field.

A `Shape` belongs to one schema node and knows how to make a CEL value of its data: dates become timestamps, numbers
doubles, objects `SchemaObject`s that show only what the schema declares. Values are made when they are asked for and
kept for the rest of the evaluation. The data itself is never changed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from nagaya.apiserver.cel import times
from nagaya.apiserver.cel.escaping import escape, unescape
from nagaya.apiserver.cel.operators import equal, find
from nagaya.apiserver.cel.values import (
    NOTHING,
    CelError,
    KeyedList,
    MapLike,
    NoSuchOverloadError,
    Opaque,
    SetList,
)
from nagaya.apiserver.meta.govalue import type_name as go_type_name
from nagaya.apiserver.meta.status import JsonObject

Adopt = Callable[[Any], Any]

_TEXT: Final[JsonObject] = {"type": "string"}
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9_=\-]")


def with_object_metadata(schema: JsonObject) -> JsonObject:
    """The schema of a whole object: kind, apiVersion and the names in metadata exist even if it does not mention
    them."""
    properties = schema.get("properties") or {}
    metadata = (properties.get("metadata") or {}).get("properties") or {}
    if all((properties.get(name) or {}).get("type") == "string" for name in ("kind", "apiVersion")) and all(
        (metadata.get(name) or {}).get("type") == "string" for name in ("name", "generateName")
    ):
        return schema
    named: JsonObject = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
    return {**schema, "properties": {**properties, "kind": _TEXT, "apiVersion": _TEXT, "metadata": named}}


class Shape:
    """The members of an object, by the names that expressions use for them."""

    __slots__ = ("_fields", "_properties")

    def __init__(self, properties: JsonObject) -> None:
        self._properties = properties
        self._fields: dict[str, tuple[str, Adopt]] | None = None

    @property
    def fields(self) -> dict[str, tuple[str, Adopt]]:
        """Name in expressions to name in the data, and what makes a value of it. Made at first use."""
        if self._fields is None:
            self._fields = {}
            for name, schema in self._properties.items():
                entry = (name, adopter(schema))
                if unescape(name) == name:
                    self._fields[name] = entry
                escaped = escape(name)
                if escaped is not None:
                    self._fields[escaped] = entry
        return self._fields

    def knows(self, name: str) -> bool:
        """Whether the schema declares a member of this name in the data."""
        return name in self._properties


class SchemaObject(MapLike):
    """An object. Only members that its shape declares can be seen, and those that are null cannot."""

    __slots__ = ("_made", "raw", "shape")

    def __init__(self, raw: JsonObject, shape: Shape) -> None:
        self.raw = raw
        self.shape = shape
        self._made: dict[str, Any] = {}

    def member(self, field: str) -> Any:
        """The member's value. Raises CelError when there is none."""
        made = self._made
        if field in made:
            return made[field]
        entry = self.shape.fields.get(field)
        if entry is not None:
            raw = self.raw.get(entry[0])
            if raw is not None:
                value = made[field] = entry[1](raw)
                return value
        raise CelError(f"no such key: {field}")

    def find(self, key: Any) -> Any:
        """The member's value, or `NOTHING`."""
        if not isinstance(key, str):
            raise NoSuchOverloadError
        entry = self.shape.fields.get(key)
        if entry is None or self.raw.get(entry[0]) is None:
            return NOTHING
        return self.member(key)

    def keys(self) -> list[str]:
        """The members that are there, by their names in expressions."""
        return [escape(name) or name for name in self.raw if self.shape.knows(name)]

    def size(self) -> int:
        """How many members there are, known or not."""
        return len(self.raw)

    def native(self) -> Any:
        """The data behind it."""
        return self.raw

    def equals_object(self, other: Any) -> bool:
        """Whether all declared members are equal; what is not declared must only not contradict."""
        others: Any = other.raw if isinstance(other, SchemaObject) else other
        if len(self.raw) != len(others):
            return False
        for name, value in self.raw.items():
            if self.shape.knows(name):
                mine, theirs = self.find(name), find(other, name)
                if (mine is NOTHING) is not (theirs is NOTHING):
                    return False
                if mine is not NOTHING and not equal(mine, theirs):
                    return False
            elif name in others and others[name] != value:
                return False
        return True


class Preserved(Opaque):
    """Data that the schema says nothing about. It can be compared as part of an object, and nothing else."""

    __slots__ = ("raw",)

    type_name = "unknown"

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def equals(self, other: Any) -> bool:
        """Whether it is the same data."""
        return bool(self.raw == other.raw)


def adopter(schema: JsonObject) -> Adopt:
    """What makes a CEL value of data that has this schema. It raises CelError for data that has not."""
    adopt = _adopter(schema)
    nullable = schema.get("nullable") is True

    def adopted(raw: Any) -> Any:
        if raw is None:
            if nullable:
                return None
            raise CelError("invalid data, got null for schema with nullable=false")
        return adopt(raw)

    return adopted


def _adopter(schema: JsonObject) -> Adopt:
    if schema.get("x-kubernetes-int-or-string"):
        return _int_or_string
    match schema.get("type"):
        case "object":
            return _of_object(schema)
        case "array":
            return _of_array(schema)
        case "string":
            return _FORMATS.get(schema.get("format") or "", _text)
        case "number":
            return _number
        case "integer":
            return _integer
        case "boolean":
            return _boolean
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return Preserved
    kind = schema.get("type") or ""

    def fail(_: Any) -> Any:
        raise CelError(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with"
            f" x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {kind}"
        )

    return fail


def _of_object(schema: JsonObject) -> Adopt:
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    if embedded:
        schema = with_object_metadata(schema)
    properties = schema.get("properties")
    values = schema.get("additionalProperties")
    if properties or embedded or not isinstance(values, dict):
        shape = Shape(properties or {})

        def of_object(raw: Any) -> Any:
            return SchemaObject(_expect(raw, dict, "a map for the provided schema with type=object"), shape)

        return of_object
    adopt = adopter(values)

    def of_map(raw: Any) -> Any:
        entries = _expect(raw, dict, "a map for the provided schema with type=object")
        return {key: adopt(value) for key, value in entries.items()}

    return of_map


def _of_array(schema: JsonObject) -> Adopt:
    items = schema.get("items")
    adopt = adopter(items) if isinstance(items, dict) else None
    kind = schema.get("x-kubernetes-list-type")
    keys = tuple(escape(key) or key for key in schema.get("x-kubernetes-list-map-keys") or ())

    def of_list(raw: Any) -> Any:
        elements = _expect(raw, list, "an array for the provided schema with type=array")
        if adopt is None:
            raise CelError("invalid array type, expected Items with a non-empty Schema")
        if kind == "map":
            keyed = KeyedList(map(adopt, elements))
            keyed.raw, keyed.keys, keyed.adopt = elements, keys, of_list
            return keyed
        return SetList(map(adopt, elements)) if kind == "set" else list(map(adopt, elements))

    return of_list


def _expect(raw: Any, kind: type, expected: str) -> Any:
    if isinstance(raw, kind):
        return raw
    raise CelError(f"invalid data, expected {expected}")


def _int_or_string(raw: Any) -> Any:
    if type(raw) is str or type(raw) is int:
        return raw
    raise CelError("invalid data, expected XIntOrString value to be either a string or integer")


def _text(raw: Any) -> Any:
    if type(raw) is str:
        return raw
    raise CelError(f"invalid data, expected string, got {go_type_name(raw)}")


def _number(raw: Any) -> float:
    if type(raw) is int or type(raw) is float:
        return float(raw)
    raise CelError(f"invalid data, expected float, got {go_type_name(raw)}")


def _integer(raw: Any) -> int:
    if type(raw) is int:
        return raw
    raise CelError(f"invalid data, expected int, got {go_type_name(raw)}")


def _boolean(raw: Any) -> bool:
    if raw is True or raw is False:
        return bool(raw)
    raise CelError(f"invalid data, expected bool, got {go_type_name(raw)}")


def _parsed(parse: Callable[[str], Any], what: str) -> Adopt:
    def of_text(raw: Any) -> Any:
        text = _text(raw)
        try:
            return parse(text)
        except ValueError as error:
            raise CelError(f"{what} {text}: {error}") from None

    return of_text


def _date_time(text: str) -> Any:
    return times.parse_date_time(text or "1970-01-01T00:00:00Z")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        wrong = _NOT_BASE64.search(text)
        position = len(text[: wrong.start()].encode()) if wrong else len(text) // 4 * 4
        raise ValueError(f"illegal base64 data at input byte {position}") from None


_FORMATS: Final[dict[str, Adopt]] = {
    "duration": _parsed(times.parse_wordy_duration, "Invalid duration"),
    "date": _parsed(times.parse_date, "Invalid date formatted string"),
    "date-time": _parsed(_date_time, "Invalid date-time formatted string"),
    "byte": _parsed(_bytes, "Invalid byte formatted string"),
}
