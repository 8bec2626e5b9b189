"""Numbers as Go prints them, where Python's own forms differ."""

from __future__ import annotations

from decimal import Decimal
from math import isinf, isnan


def general(value: float) -> str:
    """`%g` with the fewest digits: an exponent below 1e-4 and from a million on."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + exponent - 1 if value else 0
    minus = "-" if sign else ""
    if value and (power < -4 or power >= 6):
        return minus + _exponential(text, power)
    return minus + _positional(text, power)


def _exponential(digits: str, power: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _positional(digits: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    whole = digits[: power + 1].ljust(power + 1, "0")
    return whole + (f".{digits[power + 1 :]}" if len(digits) > power + 1 else "")


def fixed(value: float) -> str:
    """`%f` with the fewest digits, never an exponent."""
    return format(Decimal(repr(value)), "f").removesuffix(".0")
