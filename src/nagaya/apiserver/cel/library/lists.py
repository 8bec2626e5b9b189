"""Lists: sums and extremes, sorting, slices, and lists taken for sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from nagaya.apiserver.cel.budget import Budget
from nagaya.apiserver.cel.declarations import Function, Overload, function, overload
from nagaya.apiserver.cel.operators import COMPARABLE, add, contains, equal, order, unsupported
from nagaya.apiserver.cel.values import (
    CelError,
    Duration,
    NoSuchOverloadError,
    Uint,
    type_name,
)

_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: Final = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _before(one: Any, other: Any) -> bool:
    """Whether the first comes before the second; values that have no order come neither before nor after."""
    try:
        return order(one, other) < 0
    except CelError:
        return False


def _is_sorted(values: list[Any]) -> bool:
    return not any(_before(other, one) for one, other in pairwise(values))


def _extreme(name: str, better: Callable[[Any, Any], bool]) -> Callable[[list[Any]], Any]:
    def find(values: list[Any]) -> Any:
        if not values:
            raise CelError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if better(value, best):
                best = value
        return best

    return find


def _sum_from(zero: Any) -> Callable[[list[Any]], Any]:
    def total(values: list[Any]) -> Any:
        result = zero
        for value in values:
            result = add(result, value)
        return result

    return total


def _index_of(values: list[Any], item: Any) -> int:
    return next((index for index, value in enumerate(values) if equal(value, item)), -1)


def _last_index_of(values: list[Any], item: Any) -> int:
    return next((index for index in range(len(values) - 1, -1, -1) if equal(values[index], item)), -1)


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    asked = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{asked}, negative indexes not supported")
    if start > end:
        raise CelError(f"{asked}, start index must be less than or equal to end index")
    if len(values) < end:
        raise CelError(f"{asked}, list is length {len(values)}")
    return list(values[start:end])


def _flatten_once(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise NoSuchOverloadError(f"no such overload: {_shown_type(values)}.flatten()")
    return _flattened(values, 1)


def _flatten(values: Any, depth: Any) -> list[Any]:
    if not isinstance(values, list) or type(depth) is not int:
        raise NoSuchOverloadError(f"no such overload: {_shown_type(values)}.flatten({type_name(depth)})")
    if depth < 0:
        raise CelError("level must be non-negative")
    return _flattened(values, depth)


def _shown_type(value: Any) -> str:
    name = type_name(value)
    return {"map": "map(dyn, dyn)", "list": "list(dyn)"}.get(name, name)


def _flattened(values: list[Any], depth: int) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, list) and depth:
            flat += _flattened(value, depth - 1)
        else:
            flat.append(value)
    return flat


def _sort_by(budget: Budget, values: list[Any], keys: list[Any]) -> list[Any]:
    budget.spend(len(values) * max(1, len(values).bit_length()))
    if len(values) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got"
            f" {len(values)} and {len(keys)} elements respectively"
        )
    if keys and type(keys[0]) not in COMPARABLE:
        raise CelError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")
    return [values[index] for index in sorted(range(len(keys)), key=lambda index: _ordered(keys[index]))]


_ordered = cmp_to_key(lambda one, other: _before(other, one) - _before(one, other))


def _sort(budget: Budget, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise unsupported("sort", values)
    return _sort_by(budget, values, values)


def _range(budget: Budget, count: int) -> list[int]:
    if count > 0:
        budget.spend(count)
    return list(range(count))


def _distinct(budget: Budget, values: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for value in values:
        budget.spend(len(unique) + 1)
        if not contains(unique, value):
            unique.append(value)
    return unique


def _set_contains(budget: Budget, values: list[Any], wanted: list[Any]) -> bool:
    budget.spend(len(values) * len(wanted))
    return all(contains(values, each) for each in wanted)


def _set_equivalent(budget: Budget, one: list[Any], other: list[Any]) -> bool:
    return _set_contains(budget, one, other) and _set_contains(budget, other, one)


def _set_intersects(budget: Budget, one: list[Any], other: list[Any]) -> bool:
    budget.spend(len(one) * len(other))
    return any(contains(other, each) for each in one)


def _each(
    name: str,
    result: str,
    implementation: Callable[..., Any],
    params: str = "",
    *,
    charged: bool = False,
    lenient: bool = False,
) -> Function:
    """A function with one signature per comparable type; `{}` in the texts stands for the type."""
    overloads: list[Overload] = [
        overload(f"list({'T' if params else each}).({params.format(each)}) -> {result.format(each)}", implementation)
        for each in _COMPARABLE
    ]
    return function(name, *overloads, lenient=lenient, charged=charged)


FUNCTIONS: Final = (
    _each("isSorted", "bool", _is_sorted),
    function(
        "sum",
        *(overload(f"list({each}).() -> {each}", _sum_from(zero)) for each, zero in _ZEROS.items()),
    ),
    _each("max", "{}", _extreme("max", lambda value, best: _before(best, value))),
    _each("min", "{}", _extreme("min", _before)),
    function("indexOf", overload("list(A).(A) -> int", _index_of)),
    function("lastIndexOf", overload("list(A).(A) -> int", _last_index_of)),
    function("slice", overload("list(T).(int, int) -> list(T)", _slice)),
    function(
        "flatten",
        overload("list(list(T)).() -> list(T)", _flatten_once),
        overload("list(dyn).(int) -> list(dyn)", _flatten),
        lenient=True,
    ),
    _each("sort", "list({})", _sort, charged=True, lenient=True),
    _each("@sortByAssociatedKeys", "list(T)", _sort_by, "list({})", charged=True),
    function("lists.range", overload("(int) -> list(int)", _range), charged=True),
    function("reverse", overload("list(T).() -> list(T)", lambda values: list(reversed(values)))),
    function("distinct", overload("list(T).() -> list(T)", _distinct), charged=True),
    function("sets.contains", overload("(list(T), list(T)) -> bool", _set_contains), charged=True),
    function("sets.equivalent", overload("(list(T), list(T)) -> bool", _set_equivalent), charged=True),
    function("sets.intersects", overload("(list(T), list(T)) -> bool", _set_intersects), charged=True),
)
