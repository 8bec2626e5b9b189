"""Values that may be absent: `optional.of(x)`, `.orValue(y)`, `.first()` and others."""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.cel.access import shown
from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.times import SECOND
from nagaya.apiserver.cel.values import NONE, CelError, Duration, Optional, Timestamp

_ZERO_DATE: Final = -62135596800 * SECOND


def _of_non_zero(value: Any) -> Optional:
    if value is None or (isinstance(value, (bool, int, float, str, bytes, list, dict)) and not value):
        return NONE
    if isinstance(value, Duration) and not value.ns:
        return NONE
    if isinstance(value, Timestamp) and value.ns == _ZERO_DATE:
        return NONE
    return Optional(value)


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _first(values: list[Any]) -> Optional:
    return Optional(values[0]) if values else NONE


def _last(values: list[Any]) -> Optional:
    return Optional(values[-1]) if values else NONE


def _unwrap(values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        if not isinstance(value, Optional):
            raise CelError(f"value {shown(value)} is not optional")
        if value.present:
            found.append(value.value)
    return found


def _either(one: Optional, other: Optional) -> Optional:
    return one if one.present else other


def _or_value(optional: Optional, other: Any) -> Any:
    return optional.value if optional.present else other


FUNCTIONS: Final = (
    function("optional.none", overload("() -> optional(V)", lambda: NONE)),
    function("optional.of", overload("(V) -> optional(V)", Optional)),
    function("optional.ofNonZeroValue", overload("(V) -> optional(V)", _of_non_zero)),
    function("optional.unwrap", overload("(list(optional(V))) -> list(V)", _unwrap)),
    function("unwrapOpt", overload("list(optional(V)).() -> list(V)", _unwrap)),
    function("hasValue", overload("optional(V).() -> bool", lambda optional: optional.present)),
    function("value", overload("optional(V).() -> V", _value)),
    function("or", overload("optional(V).(optional(V)) -> optional(V)", _either)),
    function("orValue", overload("optional(V).(V) -> V", _or_value)),
    function("first", overload("list(V).() -> optional(V)", _first)),
    function("last", overload("list(V).() -> optional(V)", _last)),
)
