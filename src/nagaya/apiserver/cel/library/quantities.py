"""Amounts of resources: `quantity('1Gi')`, comparisons and sums."""

from __future__ import annotations

import re
from typing import Any, Final

from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.operators import MAX_INT, MIN_INT
from nagaya.apiserver.cel.values import CelError, Opaque
from nagaya.apiserver.meta import quantity
from nagaya.apiserver.meta.quantity import Format, Quantity

_PARTS: Final = re.compile(r"[+-]?0*(\d*)(?:\.(\d*))?(.*)", re.ASCII)
_FAST_DIGITS: Final = 18


class Amount(Opaque):
    """A quantity. Only an amount that is `small` can be asked for its integer value.

    Small is what the real server keeps in 64 bits, which depends on how the amount was written: `0.5Gi` is not.
    """

    __slots__ = ("quantity", "small")

    type_name = "kubernetes.Quantity"

    def __init__(self, quantity: Quantity, small: bool) -> None:
        self.quantity = quantity
        self.small = small

    def equals(self, other: Any) -> bool:
        """Whether it is the same amount, however it is written."""
        return bool(self.quantity == other.quantity)


def _quantity(text: str) -> Amount:
    try:
        parsed = quantity.parse(text)
    except ValueError as error:
        raise CelError(str(error)) from None
    return Amount(parsed, _is_small(text, parsed))


def _is_small(text: str, parsed: Quantity) -> bool:
    found = _PARTS.fullmatch(text)
    assert found is not None
    whole, decimals = found[1] or "0", found[2] or ""
    if parsed.format is Format.BINARY or found[3].endswith("i"):
        power = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}.get(found[3][:1], 0)
        return not decimals and 15 - len(whole) - int(power * 3 / 10) - 1 >= 0
    return len(whole) + len(decimals) <= _FAST_DIGITS and parsed.exponent >= -9


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _integer(amount: Amount) -> int | None:
    value = amount.quantity
    if not amount.small or value.exponent < 0 or value.exponent > 20:
        return None
    whole = value.mantissa * 10**value.exponent
    return int(whole) if MIN_INT <= whole <= MAX_INT else None


def _as_integer(amount: Amount) -> int:
    whole = _integer(amount)
    if whole is None:
        raise CelError("cannot convert value to integer")
    return whole


def _as_float(amount: Amount) -> float:
    value = amount.quantity
    try:
        return float(value.mantissa) * float(f"1e{value.exponent}")
    except OverflowError:
        return float("inf") if value.mantissa > 0 else float("-inf")


def _compare(one: Amount, other: Amount) -> int:
    return -1 if one.quantity < other.quantity else 1 if other.quantity < one.quantity else 0


def _sum(one: Amount, other: Amount, sign: int) -> Amount:
    if not other.quantity.mantissa:
        return one
    total = one.quantity + other.quantity if sign > 0 else one.quantity - other.quantity
    if not one.quantity.mantissa:
        total = Quantity(sign * other.quantity.mantissa, other.quantity.exponent, other.quantity.format)
    return Amount(total, one.small and other.small and MIN_INT <= total.mantissa <= MAX_INT)


def _of(number: int) -> Amount:
    return Amount(Quantity(number, 0, Format.EXPONENT), small=True)


_Q: Final = "kubernetes.Quantity"

FUNCTIONS: Final = (
    function("quantity", overload(f"(string) -> {_Q}", _quantity)),
    function("isQuantity", overload("(string) -> bool", _is_quantity)),
    function("sign", overload(f"({_Q}) -> int", lambda amount: amount.quantity.sign)),
    function("isGreaterThan", overload(f"{_Q}.({_Q}) -> bool", lambda one, other: _compare(one, other) > 0)),
    function("isLessThan", overload(f"{_Q}.({_Q}) -> bool", lambda one, other: _compare(one, other) < 0)),
    function("compareTo", overload(f"{_Q}.({_Q}) -> int", _compare)),
    function("asApproximateFloat", overload(f"{_Q}.() -> double", _as_float)),
    function("asInteger", overload(f"{_Q}.() -> int", _as_integer)),
    function("isInteger", overload(f"{_Q}.() -> bool", lambda amount: _integer(amount) is not None)),
    function(
        "add",
        overload(f"{_Q}.({_Q}) -> {_Q}", lambda one, other: _sum(one, other, 1)),
        overload(f"{_Q}.(int) -> {_Q}", lambda one, number: _sum(one, _of(number), 1)),
    ),
    function(
        "sub",
        overload(f"{_Q}.({_Q}) -> {_Q}", lambda one, other: _sum(one, other, -1)),
        overload(f"{_Q}.(int) -> {_Q}", lambda one, number: _sum(one, _of(number), -1)),
    ),
)
