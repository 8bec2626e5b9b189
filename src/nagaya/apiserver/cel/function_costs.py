"""What calls cost at most, judged by the sizes of what they are called with.

The numbers are the real server's, because they decide which rules it takes. A function that is not here does a fixed
amount of work: one step, apart from what its arguments cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from nagaya.apiserver.cel.declarations import Overload
from nagaya.apiserver.cel.extents import ITEMS
from nagaya.apiserver.cel.ranges import LARGEST, NOTHING, ONE, UNKNOWN, Range, exactly
from nagaya.apiserver.cel.syntax import Literal, Node
from nagaya.apiserver.cel.types import CelType, Kind

PER_CHARACTER: Final = 0.1  # for going through a text once
PER_PATTERN_CHARACTER: Final = 0.25
LIST: Final = exactly(10)  # for making one
MAP: Final = exactly(30)
STRUCT: Final = exactly(40)
_NAME_PATTERN: Final = 128  # characters in the longest pattern of a named format
_FORMAT: Final = 64
_ADDRESS: Final = Range(4, 16)  # bytes


class Operand(NamedTuple):
    """A target or an argument. `size` is what is known of it, `path` where in the data it comes from."""

    node: Node
    type: CelType
    path: tuple[str, ...]
    size: Range


class CallCost(NamedTuple):
    """What a call costs without its arguments, and how large its result is, if that follows from them."""

    cost: Range
    size: Range | None = None


class Callee(NamedTuple):
    """A call as its cost depends on it. `size_at` tells how large data at a path can be."""

    overload: Overload
    target: Operand | None
    args: Sequence[Operand]
    size_at: Callable[[tuple[str, ...]], Range]


Estimate = Callable[[Callee], CallCost | None]


def estimate(function: str, callee: Callee) -> CallCost | None:
    """What a call costs that does more than a fixed amount of work."""
    found = _FUNCTIONS.get(function)
    return None if found is None else found(callee)


def _through_argument(factor: float, *, sized: bool = False) -> Estimate:
    def cost(call: Callee) -> CallCost | None:
        size = call.args[0].size
        return CallCost(size.scaled(factor), size if sized else None)

    return cost


def _through_target(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    return CallCost(call.target.size.scaled(PER_CHARACTER), call.target.size)


def _element(call: Callee, of: Operand) -> tuple[CelType, Range] | None:
    """The type and size of a list's elements."""
    if not of.type.params:
        return None
    return of.type.params[0], call.size_at((*of.path, ITEMS) if of.path else ())


def _comparing(call: Callee) -> CallCost | None:
    """One comparison for each element, which for texts means to read them."""
    if call.target is None:
        return None
    found = _element(call, call.target)
    if found is None:
        return CallCost(call.target.size.scaled(PER_CHARACTER))
    kind, size = found
    each = ONE.plus(size.scaled(PER_CHARACTER)) if kind.kind in (Kind.STRING, Kind.BYTES) else ONE
    return CallCost(call.target.size.times(each))


def _replace(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    size, old, new = call.target.size, call.args[0].size, call.args[1].size
    times_most, kept_most = _replaced(size.most, old.least, shrinks=new.most <= old.least)
    times_least, kept_least = _replaced(size.least, old.most, shrinks=old.most <= new.least)
    made = Range(times_least, times_most).times(new).plus(Range(kept_least, kept_most))
    return CallCost(size.scaled(2 * PER_CHARACTER), made)


def _replaced(length: int, old: int, *, shrinks: bool) -> tuple[int, int]:
    """How often a piece is replaced in a text, and how much of the text stays."""
    if old == 0:  # the new text comes around every character
        return min(length + 1, LARGEST), length
    return (0, length) if shrinks else (math.ceil(length / old), 0)


def _split(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    most = call.target.size.most
    if len(call.args) > 1 and (given := _integer(call.args[1])) is not None:
        most = given % 2**64
    return CallCost(call.target.size.scaled(2 * PER_CHARACTER), Range(0, most))


def _join(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    count, size = call.target.size, NOTHING
    if (found := _element(call, call.target)) is not None:
        size = count.times(found[1])
    if call.args:
        between = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(call.args[0].size.times(between))
    return CallCost(size.scaled(PER_CHARACTER), size)


def _pattern(call: Callee, *, found: bool) -> CallCost | None:
    if call.target is None:
        return None
    size = call.target.size
    cost = size.plus(ONE).scaled(PER_CHARACTER).times(call.args[0].size.scaled(PER_PATTERN_CHARACTER))
    return CallCost(cost, Range(0, size.most) if found else None)


def _contains(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    return CallCost(call.target.size.scaled(PER_CHARACTER).times(call.args[0].size.scaled(PER_CHARACTER)))


def _ip(call: Callee) -> CallCost | None:
    # As a method it only reads a part of a CIDR.
    return None if call.overload.is_method else CallCost(call.args[0].size.scaled(PER_CHARACTER))


def _within(*, network: bool) -> Estimate:
    def cost(call: Callee) -> CallCost | None:
        compared = _ADDRESS.plus(_ADDRESS).scaled(PER_CHARACTER)
        if network:
            compared = compared.plus(_ADDRESS.scaled(PER_CHARACTER)).plus(ONE)
        if call.overload.params[1].kind is Kind.STRING:
            compared = compared.plus(call.args[0].size.scaled(PER_CHARACTER))
        return CallCost(compared)

    return cost


def _validate(call: Callee) -> CallCost | None:
    read = call.args[0].size.scaled(PER_CHARACTER)
    return CallCost(read.scaled(_NAME_PATTERN * PER_PATTERN_CHARACTER))


def _format(call: Callee) -> CallCost | None:
    return None if call.target is None else CallCost(call.target.size.scaled(PER_CHARACTER))


def _quote(call: Callee) -> CallCost | None:
    size = call.args[0].size
    return CallCost(size.scaled(PER_CHARACTER), Range(size.least + 2, size.most * 2 % 2**64 + 2))


def _to_bytes(call: Callee) -> CallCost | None:
    if call.overload.params[0].kind is not Kind.STRING:
        return None
    size = call.args[0].size
    return CallCost(size.scaled(PER_CHARACTER), Range(size.least, size.most * 4 % 2**64))


def _to_string(call: Callee) -> CallCost | None:
    if call.overload.params[0].kind is not Kind.BYTES:
        return None
    size = call.args[0].size
    return CallCost(size.scaled(PER_CHARACTER), Range(size.least // 4, size.most))


def _in(call: Callee) -> CallCost | None:
    return CallCost(call.args[1].size) if call.overload.params[1].kind is Kind.LIST else None


def _sets(factor: float) -> Estimate:
    def cost(call: Callee) -> CallCost | None:
        return CallCost(call.args[0].size.times(call.args[1].size).scaled(factor).plus(ONE))

    return cost


def _new_list(factor: float, size: Range) -> CallCost:
    return CallCost(size.scaled(factor).plus(ONE).plus(LIST), size)


def _slice(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    start, end = (_bound(each, default) for each, default in zip(call.args, (0, call.target.size.most), strict=True))
    return _new_list(1, exactly((end - start) % 2**64))


def _range(call: Callee) -> CallCost | None:
    return _new_list(1, exactly(_bound(call.args[0], LARGEST)))


def _reverse(call: Callee) -> CallCost | None:
    return None if call.target is None else _new_list(1, call.target.size)


def _flatten(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    return _new_list(float(_bound(call.args[0], LARGEST)) if call.args else 1.0, call.target.size)


def _distinct(call: Callee) -> CallCost | None:
    return None if call.target is None else _new_list(2.0, call.target.size.times(call.target.size))


def _sort(call: Callee) -> CallCost | None:
    if call.target is None:
        return None
    by, keys = (call.args[0], call.overload.params[1]) if call.args else (call.target, call.overload.params[0])
    read = keys.params[0].kind in (Kind.STRING, Kind.BYTES)
    return _new_list(2.0 + (PER_CHARACTER if read else 0.0), by.size.times(by.size))


def _bound(operand: Operand, otherwise: int) -> int:
    given = _integer(operand)
    return otherwise if given is None else max(given, 0)


def _integer(operand: Operand) -> int | None:
    value = operand.node.value if isinstance(operand.node, Literal) else None
    return value if type(value) is int else None


def _equals(call: Callee) -> CallCost | None:
    one, other = call.args
    if one.type == other.type:
        if one.type.name in _EQUAL_AT_ONCE:
            return CallCost(ONE)
        if one.type.name == "kubernetes.NamedFormat":
            return CallCost(Range(1, _FORMAT).scaled(PER_CHARACTER))
        if one.type.name == "kubernetes.URL":
            longest = 1 if other.size == UNKNOWN else other.size.most
            return CallCost(Range(1, longest).scaled(PER_CHARACTER))
    return _both_read(call)


def _both_read(call: Callee) -> CallCost | None:
    """Both sides are read as far as the shorter one goes."""
    shorter = min(call.args[0].size.most, call.args[1].size.most)
    return CallCost(Range(min(shorter, 1), shorter).scaled(PER_CHARACTER))


def _ordered(call: Callee) -> CallCost | None:
    return _both_read(call) if call.overload.params[0].kind in (Kind.STRING, Kind.BYTES) else None


_EQUAL_AT_ONCE: Final = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})
_FUNCTIONS: Final[Mapping[str, Estimate]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _comparing),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _through_argument(PER_CHARACTER, sized=True)),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _through_target),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity"), _through_argument(PER_CHARACTER)),
    **dict.fromkeys(("semver", "isSemver"), _through_argument(PER_CHARACTER)),
    **dict.fromkeys(("startsWith", "endsWith"), _through_argument(PER_CHARACTER)),
    **dict.fromkeys(("find", "findAll"), lambda call: _pattern(call, found=True)),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "matches": lambda call: _pattern(call, found=False),
    "contains": _contains,
    "ip": _ip,
    "ip.isCanonical": _through_argument(2 * PER_CHARACTER),
    "containsIP": _within(network=False),
    "containsCIDR": _within(network=True),
    "validate": _validate,
    "format": _format,
    "strings.quote": _quote,
    "bytes": _to_bytes,
    "string": _to_string,
    "@in": _in,
    "_==_": _equals,
    "_!=_": _both_read,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    "distinct": _distinct,
}
