"""Durations as Go writes them, such as 1h30m or 500ms: v1beta1 has these where v1beta2 has whole seconds."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_PART: Final = re.compile(r"(?<![0-9.])([0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h)")


def seconds(text: str) -> Fraction:
    """How long a duration is. Raises ValueError if the text is none."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return Fraction(0)
    total, end = Fraction(0), 0
    for part in _PART.finditer(rest):
        if part.start() != end:
            break
        total += Fraction(part[1]) * _UNITS[part[2]]
        end = part.end()
    if end != len(rest) or not rest:
        raise ValueError(f"{text!r} is not a duration such as 90s or 1h30m")
    return sign * total
