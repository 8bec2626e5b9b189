"""The types the checker reasons with, and when one may stand for another.

Types are values: two of the same kind, name and parameters are equal. Type parameters (`A` in `list(A)`) are bound in a
`Bindings` while the overloads of a call are tried; what stays unbound at the end is `dyn`. The printed forms
are part of messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final


class Kind(Enum):
    """What sort of type it is; decides how it is compared."""

    UNCHECKED = ""
    ERROR = "!error!"
    DYN = "dyn"
    ANY = "any"
    NULL = "null"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    DURATION = "duration"
    TIMESTAMP = "timestamp"
    LIST = "list"
    MAP = "map"
    STRUCT = "struct"
    OPAQUE = "opaque"
    TYPE = "type"
    PARAM = "param"


class CelType:
    """A type: its kind, its run-time name and its parameters."""

    __slots__ = ("_hash", "kind", "name", "params")

    def __init__(self, kind: Kind, name: str = "", params: tuple[CelType, ...] = ()) -> None:
        self.kind = kind
        self.name = name or kind.value
        self.params = params
        self._hash = hash((kind, self.name, params))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, CelType)
            and self._hash == other._hash
            and self.kind is other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if self.kind in _PRINTED_BY_KIND:
            return self.kind.value
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"

    def __repr__(self) -> str:
        return f"CelType({self})"


# Their run-time names differ from what messages call them.
_PRINTED_BY_KIND: Final = {Kind.DURATION, Kind.TIMESTAMP, Kind.NULL, Kind.ERROR, Kind.ANY, Kind.UNCHECKED}

UNCHECKED: Final = CelType(Kind.UNCHECKED)
ERROR: Final = CelType(Kind.ERROR, "error")
DYN: Final = CelType(Kind.DYN)
ANY: Final = CelType(Kind.ANY, "google.protobuf.Any")
NULL: Final = CelType(Kind.NULL, "null_type")
BOOL: Final = CelType(Kind.BOOL)
INT: Final = CelType(Kind.INT)
UINT: Final = CelType(Kind.UINT)
DOUBLE: Final = CelType(Kind.DOUBLE)
STRING: Final = CelType(Kind.STRING)
BYTES: Final = CelType(Kind.BYTES)
DURATION: Final = CelType(Kind.DURATION, "google.protobuf.Duration")
TIMESTAMP: Final = CelType(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE: Final = CelType(Kind.TYPE)

_NULLABLE: Final = {Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP}
_WITH_PARAMS: Final = {Kind.OPAQUE, Kind.LIST, Kind.MAP}


def list_of(element: CelType) -> CelType:
    """The type of lists with such elements."""
    return CelType(Kind.LIST, "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """The type of maps from such keys to such values."""
    return CelType(Kind.MAP, "map", (key, value))


def optional_of(value: CelType) -> CelType:
    """The type of values that may be absent."""
    return CelType(Kind.OPAQUE, "optional_type", (value,))


def type_of(instance: CelType) -> CelType:
    """The type of a type."""
    return CelType(Kind.TYPE, "type", (instance,))


def struct(name: str) -> CelType:
    """A type with named fields, or with methods only."""
    return CelType(Kind.STRUCT, name)


def opaque(name: str) -> CelType:
    """A type of which nothing but its name is known to the language."""
    return CelType(Kind.OPAQUE, name)


def param(name: str) -> CelType:
    """A type parameter."""
    return CelType(Kind.PARAM, name)


def is_dyn(given: CelType) -> bool:
    """Whether anything may stand here."""
    return given.kind is Kind.DYN or given.kind is Kind.ANY


def is_dyn_or_error(given: CelType) -> bool:
    """Whether there is nothing to check: the type is open, or already reported."""
    return given.kind is Kind.DYN or given.kind is Kind.ERROR or given.kind is Kind.ANY


def unwrap_optional(given: CelType) -> tuple[CelType, bool]:
    """The type inside an optional, and whether it was one."""
    if given.kind is Kind.OPAQUE and given.name == "optional_type":
        return given.params[0], True
    return given, False


class Bindings:
    """What type parameters stand for. A failed attempt leaves no trace: it works on a copy."""

    __slots__ = ("_bound",)

    def __init__(self) -> None:
        self._bound: dict[CelType, CelType] = {}

    def assignable(self, target: CelType, given: CelType) -> bool:
        """Whether the types agree; binds parameters if they do."""
        return self.all_assignable((target,), (given,))

    def all_assignable(self, targets: Sequence[CelType], given: Sequence[CelType]) -> bool:
        """Whether the types agree pairwise; binds parameters if they all do."""
        if len(targets) != len(given):
            return False
        attempt = dict(self._bound)
        if all(_assignable(attempt, one, other) for one, other in zip(targets, given, strict=True)):
            self._bound = attempt
            return True
        return False

    def substitute(self, given: CelType, *, close: bool = False) -> CelType:
        """The type with its parameters filled in. With `close`, unbound parameters become `dyn`."""
        while given.kind is Kind.PARAM:
            bound = self._bound.get(given)
            if bound is None:
                return DYN if close else given
            given = bound
        if not given.params:
            return given
        params = tuple(self.substitute(each, close=close) for each in given.params)
        return given if params == given.params else CelType(given.kind, given.name, params)


_Bound = dict[CelType, CelType]


def _assignable(bound: _Bound, one: CelType, other: CelType) -> bool:
    if other.kind is Kind.PARAM:
        valid, has_binding = _bind(bound, one, other)
        if valid or has_binding:
            return valid
    if one.kind is Kind.PARAM:
        return _bind(bound, other, one)[0]
    if is_dyn_or_error(one) or is_dyn_or_error(other):
        return True
    if one.kind is Kind.NULL:
        return other.kind is Kind.NULL or other.kind in _NULLABLE
    if other.kind is Kind.NULL:
        return one.kind in _NULLABLE
    if one.kind is Kind.TYPE:
        return other.kind is Kind.TYPE
    if one.kind in _WITH_PARAMS:
        return (
            one.kind is other.kind
            and one.name == other.name
            and len(one.params) == len(other.params)
            and all(_assignable(bound, mine, theirs) for mine, theirs in zip(one.params, other.params, strict=True))
        )
    return one == other


def _bind(bound: _Bound, value: CelType, parameter: CelType) -> tuple[bool, bool]:
    """Whether the parameter can stand for the value, and whether it stood for something before."""
    if value == parameter:
        return True, True
    current = bound.get(parameter)
    if current is not None:
        if value == current:
            return True, True
        if _assignable(bound, value, current):
            general = most_general(value, current)
            if not _occurs(bound, parameter, general):
                bound[parameter] = general
            return True, True
        return False, True
    if not _occurs(bound, parameter, value):
        bound[parameter] = value
        return True, False
    return False, False


def _occurs(bound: _Bound, parameter: CelType, within: CelType) -> bool:
    if parameter == within:
        return True
    if within.kind is Kind.PARAM:
        current = bound.get(within)
        return current is not None and _occurs(bound, parameter, current)
    return any(_occurs(bound, parameter, each) for each in within.params)


def most_general(one: CelType, other: CelType) -> CelType:
    """Of two types that agree, the one that says less."""
    return one if _says_no_more(one, other) else other


def _says_no_more(one: CelType, other: CelType) -> bool:
    if is_dyn(one) or one.kind is Kind.PARAM:
        return True
    if is_dyn(other) or other.kind is Kind.PARAM or one.kind is not other.kind:
        return False
    if one.kind in _WITH_PARAMS:
        return (
            one.name == other.name
            and len(one.params) == len(other.params)
            and all(_says_no_more(mine, theirs) for mine, theirs in zip(one.params, other.params, strict=True))
        )
    return one.kind is Kind.TYPE or one == other
