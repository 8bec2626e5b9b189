"""What the language itself brings: operators, `size`, conversions between types, and parts of dates.

Operators have signatures here for the checker; the planner computes them itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from nagaya.apiserver.cel import conversions
from nagaya.apiserver.cel.declarations import Function, Implementation, function, overload
from nagaya.apiserver.cel.operators import size
from nagaya.apiserver.cel.times import in_zone
from nagaya.apiserver.cel.values import Duration, Timestamp, TypeValue, type_name


def _planned(*_: Any) -> Any:
    raise AssertionError("operators are computed by the planner")


def _operator(name: str, *signatures: str) -> Function:
    return function(name, *(overload(signature, _planned) for signature in signatures))


_NUMBERS: Final = ("int", "uint", "double")
_ORDERED: Final = (
    "(bool, bool) -> bool",
    *(f"({one}, {other}) -> bool" for one in _NUMBERS for other in _NUMBERS),
    *(f"({each}, {each}) -> bool" for each in ("string", "bytes", "timestamp", "duration")),
)

_OPERATORS: Final = (
    _operator("_?_:_", "(bool, A, A) -> A"),
    _operator("_&&_", "(bool, bool) -> bool"),
    _operator("_||_", "(bool, bool) -> bool"),
    _operator("!_", "(bool) -> bool"),
    _operator("@not_strictly_false", "(bool) -> bool"),
    _operator("_==_", "(A, A) -> bool"),
    _operator("_!=_", "(A, A) -> bool"),
    _operator(
        "_+_",
        "(bytes, bytes) -> bytes",
        "(double, double) -> double",
        "(duration, duration) -> duration",
        "(duration, timestamp) -> timestamp",
        "(timestamp, duration) -> timestamp",
        "(int, int) -> int",
        "(list(A), list(A)) -> list(A)",
        "(string, string) -> string",
        "(uint, uint) -> uint",
    ),
    _operator(
        "_-_",
        "(double, double) -> double",
        "(duration, duration) -> duration",
        "(int, int) -> int",
        "(timestamp, duration) -> timestamp",
        "(timestamp, timestamp) -> duration",
        "(uint, uint) -> uint",
    ),
    _operator("_*_", *(f"({each}, {each}) -> {each}" for each in ("double", "int", "uint"))),
    _operator("_/_", *(f"({each}, {each}) -> {each}" for each in ("double", "int", "uint"))),
    _operator("_%_", *(f"({each}, {each}) -> {each}" for each in ("int", "uint"))),
    _operator("-_", "(double) -> double", "(int) -> int"),
    *(_operator(name, *_ORDERED) for name in ("_<_", "_<=_", "_>_", "_>=_")),
    _operator("@in", "(A, list(A)) -> bool", "(A, map(A, B)) -> bool"),
    _operator(
        "_[_]",
        "(list(A), int) -> A",
        "(map(A, B), A) -> B",
        "(optional(list(V)), int) -> optional(V)",
        "(optional(map(K, V)), K) -> optional(V)",
    ),
    _operator(
        "_[?_]",
        "(list(V), int) -> optional(V)",
        "(optional(list(V)), int) -> optional(V)",
        "(map(K, V), K) -> optional(V)",
        "(optional(map(K, V)), K) -> optional(V)",
    ),
    _operator("cel.@mapInsert", "(map(K, V), K, V) -> map(K, V)", "(map(K, V), map(K, V)) -> map(K, V)"),
)


def _conversion(name: str, implementation: Implementation, sources: str, result: str = "") -> Function:
    return function(name, *(overload(f"({each}) -> {result or name}", implementation) for each in sources.split()))


def _identity(value: Any) -> Any:
    return value


def _unless(same: type, convert: Implementation) -> Implementation:
    return lambda value: value if type(value) is same else convert(value)


_CONVERSIONS: Final = (
    function("type", overload("(A) -> type(A)", lambda value: TypeValue(type_name(value))), lenient=True),
    function("dyn", overload("(A) -> dyn", _identity), lenient=True),
    _conversion("bool", _unless(bool, conversions.to_bool), "bool string"),
    _conversion("bytes", _unless(bytes, conversions.to_bytes), "bytes string"),
    _conversion("double", conversions.to_double, "double int string uint"),
    _conversion("duration", _unless(Duration, conversions.to_duration), "duration int string"),
    _conversion("int", conversions.to_int, "int double duration string timestamp uint"),
    _conversion("string", conversions.to_string, "string bool bytes double duration int timestamp uint"),
    _conversion("timestamp", _unless(Timestamp, conversions.to_timestamp), "timestamp int string"),
    _conversion("uint", conversions.to_uint, "uint double int string"),
)


def _part_of_date(name: str, part: Callable[[datetime], int], of_duration: Implementation | None = None) -> Function:
    overloads = [
        overload("timestamp.() -> int", lambda value: part(in_zone(value, "UTC"))),
        overload("timestamp.(string) -> int", lambda value, zone: part(in_zone(value, zone))),
    ]
    if of_duration is not None:
        overloads.append(overload("duration.() -> int", of_duration))
    return function(name, *overloads)


def _whole(unit: int) -> Implementation:
    """A duration in whole units, cut towards zero."""
    return lambda value: abs(value.ns) // unit * (-1 if value.ns < 0 else 1)


def _milliseconds(value: Timestamp) -> int:
    return value.ns // 1_000_000 % 1000


def _milliseconds_in(value: Timestamp, zone: str) -> int:
    in_zone(value, zone)
    return _milliseconds(value)


_DATES: Final = (
    _part_of_date("getFullYear", lambda date: date.year),
    _part_of_date("getMonth", lambda date: date.month - 1),
    _part_of_date("getDayOfYear", lambda date: date.timetuple().tm_yday - 1),
    _part_of_date("getDayOfMonth", lambda date: date.day - 1),
    _part_of_date("getDate", lambda date: date.day),
    _part_of_date("getDayOfWeek", lambda date: date.isoweekday() % 7),
    _part_of_date("getHours", lambda date: date.hour, _whole(3600_000_000_000)),
    _part_of_date("getMinutes", lambda date: date.minute, _whole(60_000_000_000)),
    _part_of_date("getSeconds", lambda date: date.second, _whole(1_000_000_000)),
    function(
        "getMilliseconds",
        overload("timestamp.() -> int", _milliseconds),
        overload("timestamp.(string) -> int", _milliseconds_in),
        overload("duration.() -> int", _whole(1_000_000)),
    ),
)

_SIZE: Final = function(
    "size",
    *(
        overload(signature, size)
        for each in ("bytes", "list(A)", "map(A, B)", "string")
        for signature in (f"({each}) -> int", f"{each}.() -> int")
    ),
    lenient=True,
)

FUNCTIONS: Final = (*_OPERATORS, *_CONVERSIONS, *_DATES, _SIZE)
