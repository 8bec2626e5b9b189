"""Numbers as Go prints them, where JSON's numbers do not reach: infinities, and doubles without an exponent."""

from __future__ import annotations

from decimal import Decimal
from math import isinf, isnan

from nagaya.apiserver.meta import gostring


def general(value: float) -> str:
    """`%g` with the fewest digits: an exponent below 1e-4 and from a million on."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return gostring.number(value)


def fixed(value: float) -> str:
    """`%f` with the fewest digits, never an exponent."""
    return format(Decimal(repr(value)), "f").removesuffix(".0")
