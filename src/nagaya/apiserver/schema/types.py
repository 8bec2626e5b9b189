"""The shape of objects, in the few forms that merging, patching and decoding need.

Built-in kinds (from the facts in `builtins`) and custom resources (from their OpenAPI schema) both become these types,
so server-side apply, strategic merge and unknown-field detection are written once. A type tree may be recursive:
`Struct.fields` may be filled after the struct is referred to. Types are never changed once a server uses them, and are
shared by all servers in the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""No value at all, where `None` would be JSON's null."""


class ListKind(Enum):
    """How the items of a list are told apart when it is merged."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Omit(Enum):
    """When a field is left out of a built-in object's JSON."""

    NEVER = "never"
    EMPTY = "empty"
    ZERO = "zero"


class Type:
    """Anything a field can hold."""

    __slots__ = ()


class Untyped(Type):
    """Any JSON value. Its shape is deduced from the value: maps are merged by key, lists are atomic."""

    __slots__ = ("format",)

    def __init__(self, format: str = "") -> None:
        self.format = format  # for built-ins "raw" (RawExtension), "json" or "fields" (FieldsV1); else empty


class Scalar(Type):
    """A value without parts.

    `name` is one of string, integer, number, boolean, int-or-string. `format` narrows it: for built-ins
    int32, int64, double, byte (base64), date-time, micro-time, duration, quantity; for custom resources what the schema
    says.
    """

    __slots__ = ("format", "name")

    def __init__(self, name: str, format: str = "") -> None:
        self.name = name
        self.format = format


class Map(Type):
    """String keys to values of one type. An atomic map is owned and replaced as a whole."""

    __slots__ = ("atomic", "element")

    def __init__(self, element: Type, *, atomic: bool = False) -> None:
        self.element = element
        self.atomic = atomic


class List(Type):
    """Items of one type. A `MAP` list tells items apart by the fields in `keys`, a `SET` list by their value."""

    __slots__ = ("element", "keys", "kind")

    def __init__(self, element: Type, kind: ListKind = ListKind.ATOMIC, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.kind = kind
        self.keys = keys


@dataclass(slots=True)
class Field:
    """A named member of a struct.

    `default` is what an absent value means when list items are matched by key. `patch_strategy` and `merge_key` serve
    strategic merge patch. `number`, `omit` and `pointer` describe how the built-in type is encoded by Go.
    """

    type: Type
    required: bool = False
    default: Any = MISSING
    patch_strategy: frozenset[str] = frozenset()
    merge_key: str = ""
    number: int = 0
    omit: Omit = Omit.EMPTY
    pointer: bool = False


class Struct(Type):
    """Named fields, each with a type of its own. What is not among them is unknown.

    With `preserve_unknown` unknown fields are kept and treated as `Untyped`. `name` is the Go type for built-ins
    (`v1.PodSpec`) and serves messages only.
    """

    __slots__ = ("_fields", "_fill", "atomic", "name", "preserve_unknown")

    def __init__(
        self,
        fields: Mapping[str, Field] | Callable[[], Mapping[str, Field]],
        *,
        name: str = "",
        atomic: bool = False,
        preserve_unknown: bool = False,
    ) -> None:
        self._fields: Mapping[str, Field] | None = None if callable(fields) else fields
        self._fill = fields if callable(fields) else None
        self.name = name
        self.atomic = atomic
        self.preserve_unknown = preserve_unknown

    @property
    def fields(self) -> Mapping[str, Field]:
        """The members by JSON name. Made at first use, so that recursive types can be written down."""
        if self._fields is None:
            assert self._fill is not None
            self._fields = self._fill()
        return self._fields
