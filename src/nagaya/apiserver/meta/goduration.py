"""Durations as Go reads them: `1h30m`, `-1.5s`, `300ms`. What is wrong with one is told in Go's words."""

from __future__ import annotations

import re
from typing import Final

from nagaya.apiserver.meta import gostring

SECOND: Final = 1_000_000_000
_LONGEST: Final = 2**63
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # the sign for micro, and the Greek letter
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


def parse(text: str) -> int:
    """The duration in nanoseconds. Raises ValueError."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total, position = 0, 0
    while position < len(rest):
        found = _PART.match(rest, position)
        if found is None or not (found[1] or found[2]):
            raise _invalid(text)
        total += _nanoseconds(found[1], found[2] or "", found[3], text)
        position = found.end()
    if total > _LONGEST - (not text.startswith("-")):
        raise _invalid(text)
    return -total if text.startswith("-") else total


def _nanoseconds(whole: str, fraction: str, unit: str, text: str) -> int:
    if not unit:
        raise ValueError(f"time: missing unit in duration {gostring.quote(text)}")
    factor = _UNITS.get(unit)
    if factor is None:
        raise ValueError(f"time: unknown unit {gostring.quote(unit)} in duration {gostring.quote(text)}")
    digits = fraction[:18]
    part = int(digits) * factor // 10 ** len(digits) if digits else 0
    whole = whole.lstrip("0") or "0"
    if len(whole) > len(str(_LONGEST)):
        raise _invalid(text)
    return int(whole) * factor + part


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {gostring.quote(text)}")
