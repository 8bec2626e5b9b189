"""Equality, order and arithmetic of values, with the errors they can fail with.

Numbers compare across their types; everything else equals only its own kind. Integers are 64 bit and overflow is an
error.
"""

from __future__ import annotations

from math import isnan
from typing import Any, Final

from nagaya.apiserver.cel.values import (
    NOTHING,
    CelError,
    Duration,
    KeyedList,
    MapLike,
    NoSuchOverloadError,
    Opaque,
    Optional,
    SetList,
    Timestamp,
    TypeValue,
    Uint,
)

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1
_MIN_SECONDS: Final = -62135596800
_MAX_SECONDS: Final = 253402300799
_NUMBERS: Final = frozenset({int, Uint, float})
_PLAIN: Final = frozenset({str, bool, bytes, int, Uint, float, type(None)})

# Which values know an operator at all. Those that do not are told its name, those that do and were given the wrong
# partner are not; neither are values that have methods.
_ABLE: Final[dict[str, frozenset[type]]] = {
    "_+_": frozenset({bytes, float, Duration, int, list, SetList, KeyedList, str, Timestamp, Uint}),
    "_-_": frozenset({float, Duration, int, Timestamp, Uint}),
    "_*_": frozenset({float, int, Uint}),
    "_/_": frozenset({float, int, Uint}),
    "_%_": frozenset({int, Uint}),
    "-_": frozenset({bool, float, Duration, int}),
    "size": frozenset(),
    "sort": frozenset(),
}
COMPARABLE: Final = frozenset({bool, bytes, float, Duration, int, str, Timestamp, Uint})
_WITH_METHODS: Final = frozenset({str, Duration, Timestamp})


def unsupported(function: str, value: Any) -> NoSuchOverloadError:
    """The error of an operator that the (left) value does not have, or not for this partner."""
    kind = type(value)
    if kind in _ABLE.get(function, COMPARABLE) or kind in _WITH_METHODS:
        return NoSuchOverloadError()
    return NoSuchOverloadError(f"no such overload: {function}")


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same, by CEL's rules."""
    kind, other_kind = type(one), type(other)
    if kind in _PLAIN:
        if kind is other_kind:
            return bool(one == other)
        return kind in _NUMBERS and other_kind in _NUMBERS and _numbers_equal(one, other)
    if isinstance(one, list):
        return isinstance(other, list) and lists_equal(one, other)
    if isinstance(one, (dict, MapLike)):
        return isinstance(other, (dict, MapLike)) and maps_equal(one, other)
    if kind is not other_kind:
        return False
    if isinstance(one, (Duration, Timestamp)):
        return bool(one.ns == other.ns)
    if isinstance(one, Optional):
        if not one.present or not other.present:
            return one.present is other.present
        return equal(one.value, other.value)
    if isinstance(one, TypeValue):
        return bool(one.name == other.name)
    assert isinstance(one, Opaque)
    return one.equals(other)


def _numbers_equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return not isnan(one) and not isnan(other) and _numeric_order(one, other) == 0
    return bool(one == other)


def lists_equal(one: list[Any], other: list[Any]) -> bool:
    """Whether two lists are the same; sets and keyed lists disregard order."""
    if len(one) != len(other):
        return False
    if isinstance(one, SetList):
        return all(any(equal(item, mine) for mine in one) for item in other)
    if isinstance(one, KeyedList):
        mine = {identity(one.keys, native(item)): item for item in one}
        for item in other:
            partner = mine.get(identity(one.keys, native(item)), NOTHING)
            if partner is NOTHING or not equal(partner, item):
                return False
        return True
    return all(equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def maps_equal(one: dict[Any, Any] | MapLike, other: dict[Any, Any] | MapLike) -> bool:
    """Whether two maps or objects have the same entries."""
    if isinstance(one, MapLike):
        same = getattr(one, "equals_object", None)
        if same is not None:
            return bool(same(other))
    if size(one) != size(other):
        return False
    for key in one if isinstance(one, dict) else one.keys():
        theirs = find(other, key)
        if theirs is NOTHING or not equal(find(one, key), theirs):
            return False
    return True


def identity(keys: tuple[str, ...], item: Any) -> Any:
    """What tells an item of a keyed list apart from the others."""
    if not isinstance(item, dict):
        return None
    return tuple((type(value).__name__, _frozen(value)) for value in (item.get(key) for key in keys))


def _frozen(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def native(value: Any) -> Any:
    """A value as plain JSON data, where it came from such."""
    return value.native() if isinstance(value, MapLike) else value


def size(value: Any) -> int:
    """What `size()` returns for strings, bytes, lists and maps."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if isinstance(value, MapLike):
        return value.size()
    raise unsupported("size", value)


def find(container: dict[Any, Any] | MapLike, key: Any) -> Any:
    """The value of a key in a map, or `NOTHING`."""
    if not isinstance(container, dict):
        return container.find(key)
    kind = type(key)
    if kind is str:
        return container.get(key, NOTHING)
    if kind not in _PLAIN:
        return NOTHING
    value = container.get(key, NOTHING)
    if value is NOTHING or kind is bytes:
        return value
    # Python finds 1 under True; CEL does not.
    wants_bool = kind is bool
    return value if any(each == key and (type(each) is bool) is wants_bool for each in container) else NOTHING


def contains(container: Any, item: Any) -> bool:
    """The `in` operator."""
    if isinstance(container, list):
        return any(equal(item, each) for each in container)
    if isinstance(container, (dict, MapLike)):
        return find(container, item) is not NOTHING
    raise NoSuchOverloadError


def _numeric_order(one: float, other: float) -> int:
    if isinstance(one, float) is not isinstance(other, float):
        one, other = float(one), float(other)
    return -1 if one < other else 1 if one > other else 0


def order(one: Any, other: Any, function: str = "_<_") -> int:
    """-1, 0 or 1 as the first is less than, equal to or greater than the second. `function` is who asks, for errors."""
    kind, other_kind = type(one), type(other)
    if (kind is float and isnan(one)) or (other_kind is float and kind in _NUMBERS and isnan(other)):
        raise CelError("NaN values cannot be ordered")
    if kind in _NUMBERS and other_kind in _NUMBERS:
        return _numeric_order(one, other)
    if kind is other_kind:
        if kind is str:
            # Go compares bytes; only characters beyond the 16-bit range order differently from Python's.
            one, other = one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
        elif kind is Duration or kind is Timestamp:
            one, other = one.ns, other.ns
        elif kind not in (bytes, bool):
            raise unsupported(function, one)
        return -1 if one < other else 1 if one > other else 0
    raise unsupported(function, one)


def checked(value: int) -> int:
    """The number, unless it does not fit 64 bits."""
    if MIN_INT <= value <= MAX_INT:
        return value
    raise CelError("integer overflow")


def checked_uint(value: int) -> Uint:
    """The unsigned number, unless it does not fit 64 bits."""
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise CelError("unsigned integer overflow")


def checked_duration(ns: int) -> Duration:
    """The span, unless it is longer than about 292 years."""
    if MIN_INT <= ns <= MAX_INT:
        return Duration(ns)
    raise CelError("integer overflow")


def checked_timestamp(ns: int, offset: int = 0) -> Timestamp:
    """The point in time, unless its year is not between 1 and 9999."""
    if _MIN_SECONDS <= ns // 1_000_000_000 <= _MAX_SECONDS:
        return Timestamp(ns, offset)
    raise CelError("timestamp overflow")


def add(one: Any, other: Any) -> Any:
    """The `+` operator."""
    kind, other_kind = type(one), type(other)
    if kind is other_kind:
        if kind is int:
            return checked(one + other)
        if kind is str or kind is float or kind is bytes:
            return one + other
        if kind is Uint:
            return checked_uint(int(one) + int(other))
        if kind is Duration:
            return checked_duration(one.ns + other.ns)
    if kind is Duration and other_kind is Timestamp:
        return checked_timestamp(one.ns + other.ns, other.offset)
    if kind is Timestamp and other_kind is Duration:
        return checked_timestamp(one.ns + other.ns, one.offset)
    if isinstance(one, list) and isinstance(other, list):
        return concatenate(one, other)
    raise unsupported("_+_", one)


def concatenate(one: list[Any], other: list[Any]) -> list[Any]:
    """Two lists as one; sets take only what they lack, keyed lists replace items with the same key."""
    if isinstance(one, SetList):
        united = SetList(one)
        for item in other:
            if not any(equal(item, each) for each in united):
                united.append(item)
        return united
    if isinstance(one, KeyedList):
        raw = list(one.raw)
        positions = {identity(one.keys, item): index for index, item in enumerate(raw)}
        for item in map(native, other):
            index = positions.get(identity(one.keys, item))
            if index is None:
                raw.append(item)
            else:
                raw[index] = item
        merged: list[Any] = one.adopt(raw)
        return merged
    return [*one, *other]


def subtract(one: Any, other: Any) -> Any:
    """The `-` operator between two values."""
    kind, other_kind = type(one), type(other)
    if kind is other_kind:
        if kind is int:
            return checked(one - other)
        if kind is float:
            return one - other
        if kind is Uint:
            return checked_uint(int(one) - int(other))
        if kind is Duration or kind is Timestamp:
            return checked_duration(one.ns - other.ns)
    if kind is Timestamp and other_kind is Duration:
        return checked_timestamp(one.ns - other.ns, one.offset)
    raise unsupported("_-_", one)


def multiply(one: Any, other: Any) -> Any:
    """The `*` operator."""
    kind = type(one)
    if kind is type(other):
        if kind is int:
            return checked(one * other)
        if kind is float:
            return one * other
        if kind is Uint:
            return checked_uint(int(one) * int(other))
    raise unsupported("_*_", one)


def divide(one: Any, other: Any) -> Any:
    """The `/` operator; integers are cut towards zero."""
    kind = type(one)
    if kind is not type(other) or kind not in _NUMBERS:
        raise unsupported("_/_", one)
    if kind is float:
        if other:
            return one / other
        positive = (str(one)[0] == "-") is (str(other)[0] == "-")
        return float("nan") if isnan(one) or not one else float("inf") if positive else float("-inf")
    if not other:
        raise CelError("division by zero")
    if kind is Uint:
        return Uint(int(one) // int(other))
    quotient = abs(one) // abs(other)
    return checked(quotient if (one < 0) is (other < 0) else -quotient)


def modulo(one: Any, other: Any) -> Any:
    """The `%` operator; the sign is the dividend's."""
    kind = type(one)
    if kind is not type(other) or kind not in (int, Uint):
        raise unsupported("_%_", one)
    if not other:
        raise CelError("modulus by zero")
    if kind is Uint:
        return Uint(int(one) % int(other))
    if one == MIN_INT and other == -1:
        raise CelError("integer overflow")
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


def negate(value: Any) -> Any:
    """The `-` operator before a value."""
    kind = type(value)
    if kind is int:
        return checked(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return checked_duration(-value.ns)
    raise unsupported("-_", value)
