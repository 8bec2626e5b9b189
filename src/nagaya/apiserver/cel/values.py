"""What expressions compute with.

Most CEL values are Python's own: None, bool, int, float, str, bytes, list and dict. The rest is here: unsigned
integers, points in time, durations, optionals, types as values, and the base of the opaque ones (quantities,
addresses, ...). Python takes `True` for `1` and `1` for `1.0`; nothing outside `operators` may compare CEL values with
`==`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final


class CelError(Exception):
    """An evaluation that failed. Logical operators may absorb it, as the language demands."""


class NoSuchOverloadError(CelError):
    """A function or operator was called with values it is not made for."""

    def __init__(self, message: str = "no such overload") -> None:
        super().__init__(message)


class CostExceededError(Exception):
    """An evaluation used up its budget. Not a `CelError`: nothing in an expression may absorb it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class Duration:
    """A span of time in nanoseconds."""

    __slots__ = ("ns",)

    def __init__(self, ns: int) -> None:
        self.ns = ns


class Timestamp:
    """A point in time: nanoseconds since 1970 in UTC. `offset` is the zone it was written in, in seconds, for
    printing."""

    __slots__ = ("ns", "offset")

    def __init__(self, ns: int, offset: int = 0) -> None:
        self.ns = ns
        self.offset = offset


class TypeValue:
    """A type as a value: what `type(x)` returns and what names such as `int` stand for."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _Nothing:
    __slots__ = ()


NOTHING: Final = _Nothing()
"""Marks the absence of a value where any CEL value, null included, could stand."""


class Optional:
    """A value that may be absent."""

    __slots__ = ("value",)

    def __init__(self, value: Any = NOTHING) -> None:
        self.value = value

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self.value is not NOTHING


NONE: Final = Optional()


class Opaque:
    """A value with methods instead of fields. Subclasses say their type's name and when two are equal."""

    __slots__ = ()

    type_name: str

    def equals(self, other: Opaque) -> bool:
        """Whether the other value, of the same class, is the same."""
        return self is other


class MapLike:
    """Something that is read like a map but is none in memory, such as an object seen through its schema.

    Not an ABC, because every step asks whether a value is one; that no method is missing is the type checker's to see.
    """

    __slots__ = ()

    type_name: str = "map"

    @abstractmethod
    def find(self, key: Any) -> Any:
        """The value of a key, or `NOTHING`."""

    @abstractmethod
    def keys(self) -> list[Any]:
        """The keys to iterate over."""

    @abstractmethod
    def size(self) -> int:
        """What `size()` returns."""

    @abstractmethod
    def native(self) -> Any:
        """The value as plain JSON."""


class SetList(list[Any]):
    """A list whose order does not matter (`x-kubernetes-list-type: set`)."""


class KeyedList(list[Any]):
    """A list whose items are told apart by some of their fields (`x-kubernetes-list-type: map`).

    `raw` are the items as plain JSON, `keys` the escaped names of the fields, `adopt` makes an item of raw data.
    """

    raw: list[Any]
    keys: tuple[str, ...]
    adopt: Any


_NAMES: Final[dict[type, str]] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    SetList: "list",
    KeyedList: "list",
    dict: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Optional: "optional_type",
    TypeValue: "type",
}


def type_name(value: Any) -> str:
    """The name of a value's run-time type."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    if isinstance(value, (Opaque, MapLike)):
        return value.type_name
    raise AssertionError(f"{value!r} is no CEL value")


# What the real server calls the types of its own values, where a message shows it.
_GO_TYPES: Final[dict[type, str]] = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    Uint: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "*types.baseList",
    dict: "*types.baseMap",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Optional: "*types.Optional",
    TypeValue: "*types.Type",
}


def go_type(value: Any) -> str:
    """The implementation type of a value in the real server."""
    return _GO_TYPES.get(type(value), "ref.Val")
