"""Finds what is wrong with an object, in the words and the order of the real server.

Go's decoder goes through a body from front to back. A value of the wrong type is remembered (the first one is reported
at the end), but a text that breaks the form of its type stops it at once. Unknown and repeated fields are collected
along the way and matter only if all else is well. Here the same walk is made over an object that the quick readers
stumbled over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.gotypes import GoField, GoList, GoMap, GoScalar, GoStruct, GoUntyped
from nagaya.apiserver.meta import base64text, gostring, quantity, times
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.jsonscan import Literal, Members
from nagaya.apiserver.schema.types import Type

MOST_FINDINGS: Final = 100

_INTEGERS: Final = {"int32": range(-(1 << 31), 1 << 31), "int64": range(-(1 << 63), 1 << 63)}


@dataclass
class _Mismatch(Exception):
    """A value of the wrong type: which, which type was due, and the struct and fields on the way to it."""

    found: str
    due: str
    struct: str = ""
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        fields = ".".join(self.fields)
        place = f"Go struct field {self.struct}.{fields}" if self.struct or fields else "Go value"
        return f"json: cannot unmarshal {self.found} into {place} of type {self.due}"


def findings(struct: GoStruct, value: Any) -> list[str]:
    """The unknown and repeated fields of an object. Raises DecodeError if anything else is wrong with it.

    Repeated fields are seen only in `Members`, as `jsonscan.scan` returns them.
    """
    walk = _Walk()
    try:
        walk.value(struct, value, _Place())
    except (_Mismatch, _Malformed) as error:
        raise DecodeError(str(error)) from error
    if walk.remembered is not None:
        raise DecodeError(str(walk.remembered))
    return list(walk.findings)[:MOST_FINDINGS]


class _Malformed(Exception):
    """A text that breaks the form of its type: Go stops here."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is: the path for findings, and the struct and fields for messages about types."""

    path: str = ""
    struct: str = ""
    fields: tuple[str, ...] = ()
    root: bool = True

    def field(self, struct: GoStruct, name: str, via: tuple[str, ...]) -> _Place:
        return _Place(self.join(name), struct.short_name, (*self.fields, *via, name), False)

    def key(self, name: str) -> _Place:
        return _Place(self.join(name), self.struct, self.fields, False)

    def index(self, position: int) -> _Place:
        return _Place(f"{self.path}[{position}]", self.struct, self.fields, False)

    def join(self, name: str) -> str:
        return name if self.root else f"{self.path}.{name}"


@dataclass
class _Walk:
    findings: dict[str, None] = field(default_factory=dict)
    remembered: Exception | None = None

    def value(self, kind: Type, value: Any, place: _Place) -> None:
        if value is None:
            return
        match kind:
            case GoStruct():
                self.struct(kind, value, place)
            case GoMap():
                self.map(kind, value, place)
            case GoList():
                self.list(kind, value, place)
            case GoScalar():
                self.scalar(kind, value, place)
            case GoUntyped():
                _untyped(kind, value, place)

    def struct(self, struct: GoStruct, value: Any, place: _Place) -> None:
        seen: set[str] = set()
        for name, item in self.members(value, struct.go, place):
            member = struct.fields.get(name)
            if member is None:
                self.find("unknown", place.join(name))
                continue
            if name in seen:
                self.find("duplicate", place.join(name))
            seen.add(name)
            assert isinstance(member, GoField)
            self.value(member.type, item, place.field(struct, name, member.via))

    def map(self, kind: GoMap, value: Any, place: _Place) -> None:
        seen: set[str] = set()
        for name, item in self.members(value, kind.go, place):
            if name in seen:
                self.find("duplicate", place.join(name))
            seen.add(name)
            self.value(kind.element, item, place.key(name))

    def list(self, kind: GoList, value: Any, place: _Place) -> None:
        if value.__class__ is not list:
            self.remember(_mismatch(value, kind.go, place))
            return
        for index, item in enumerate(value):
            self.value(kind.element, item, place.index(index))

    def members(self, value: Any, due: str, place: _Place) -> Iterable[tuple[str, Any]]:
        if value.__class__ is Members:
            return list(value)
        if value.__class__ is dict:
            return list(value.items())
        self.remember(_mismatch(value, due, place))
        return ()

    def scalar(self, kind: GoScalar, value: Any, place: _Place) -> None:
        if kind.format in _FORMED or kind.name == "int-or-string":
            _formed(kind, value, place)
        elif kind.format == "byte":
            self.bytes(kind, value, place)
        elif not _fits(kind, value):
            literal = kind.name in {"integer", "number"}
            self.remember(_mismatch(value, kind.go, place, literal=literal))

    def bytes(self, kind: GoScalar, value: Any, place: _Place) -> None:
        if value.__class__ is str:
            problem = base64text.first_problem(value)
            if problem is not None:
                self.remember(base64text.Base64Error(f"illegal base64 data at input byte {problem}"))
        elif value.__class__ is list:
            for item in value:
                if item is not None and not (item.__class__ is int and 0 <= item <= 255):
                    self.remember(_mismatch(item, "uint8", place, literal=True))
        else:
            self.remember(_mismatch(value, kind.go, place))

    def find(self, what: str, path: str) -> None:
        self.findings[f"{what} field {gostring.quote(path)}"] = None

    def remember(self, error: Exception) -> None:
        if self.remembered is None:
            self.remembered = error


def _fits(kind: GoScalar, value: Any) -> bool:
    if kind.name == "string":
        return value.__class__ is str
    if kind.name == "boolean":
        return value.__class__ is bool
    if kind.name == "number":
        return value.__class__ is int or isinstance(value, float)
    return value.__class__ is int and value in _INTEGERS[kind.format]


_FORMED: Final = frozenset({"date-time", "micro-time", "quantity"})


def _formed(kind: GoScalar, value: Any, place: _Place) -> None:
    """A value whose type reads it on its own; what it refuses stops the walk."""
    if kind.name == "int-or-string":
        if value.__class__ is not str and not (value.__class__ is int and value in _INTEGERS["int32"]):
            raise _mismatch(value, "int32", place, literal=True)
        return
    if kind.format != "quantity" and value.__class__ is not str:
        raise _mismatch(value, "string", place)
    try:
        if kind.format == "date-time":
            times.parse(value)
        elif kind.format == "micro-time":
            times.parse(value, micro=True)
        else:
            quantity.parse(_quantity_text(value))
    except (times.TimeError, quantity.QuantityError) as error:
        raise _Malformed(str(error)) from error


def _quantity_text(value: Any) -> str:
    if value.__class__ is str:
        return str(value).strip()
    return _number_text(value) if word(value) == "number" else "{"


def _untyped(kind: GoUntyped, value: Any, place: _Place) -> None:
    if not kind.format.startswith("schema-or-"):
        return
    if value.__class__ in {Members, dict}:
        _nested(facts.struct_of("apiextensions/v1.JSONSchemaProps"), value, place)
    elif value.__class__ is list and kind.format != "schema-or-bool":
        element = "apiextensions/v1.JSONSchemaProps" if kind.format == "schema-or-list" else ""
        items = facts.struct_of(element) if element else GoScalar("string", go="string")
        _nested(GoList(items, go="[]v1.JSONSchemaProps" if element else "[]string"), value, place)
    elif value.__class__ is not bool and kind.format == "schema-or-bool":
        raise _Malformed("boolean or JSON schema expected")


def _nested(kind: Type, value: Any, place: _Place) -> None:
    """A part that its type decodes with a decoder of its own: the first problem in it stops the whole walk."""
    walk = _Walk()
    try:
        walk.value(kind, value, _Place())
        if walk.remembered is not None:
            raise walk.remembered
    except _Mismatch as inner:
        raise _Mismatch(inner.found, inner.due, place.struct, (*place.fields, *inner.fields)) from inner
    except base64text.Base64Error as inner:
        raise _Malformed(str(inner)) from inner


def _mismatch(value: Any, due: str, place: _Place, *, literal: bool = False) -> _Mismatch:
    found = word(value)
    if literal and found == "number":
        found = f"number {_number_text(value)}"
    return _Mismatch(found, due, place.struct, place.fields)


def word(value: Any) -> str:
    if value.__class__ is str:
        return "string"
    if value.__class__ is bool:
        return "bool"
    if value.__class__ is list:
        return "array"
    return "object" if value.__class__ in {Members, dict} else "number"


def _number_text(value: Any) -> str:
    return value.text if value.__class__ is Literal else gostring.number(value)
