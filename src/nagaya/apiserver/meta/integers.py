"""Whole numbers of 64 bits in texts, as Go's `strconv` reads them.

Clients choose these texts. Python's `int` raises a ValueError of its own for more than 4300 digits, leading zeros
included.
"""

from __future__ import annotations

import re
from typing import Final

from nagaya.apiserver.meta import gostring

_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1
_FORM: Final = re.compile("([+-]?)(?=[0-9])0*+([0-9]*)")


def parse(text: str, function: str = "Atoi") -> int:
    """The number. Raises ValueError in Go's words."""
    number = _read(text)
    if number is not None and _LEAST <= number <= _MOST:
        return number
    problem = "invalid syntax" if number is None else "value out of range"
    raise ValueError(f"strconv.{function}: parsing {gostring.quote(text)}: {problem}")


def clamped(text: str) -> int | None:
    """The number, or the nearest one that has 64 bits; None if the text is no whole number."""
    number = _read(text)
    return None if number is None else max(_LEAST, min(number, _MOST))


def _read(text: str) -> int | None:
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    sign, digits = found.groups()
    number = int(digits or "0") if len(digits) < 20 else 2**64
    return -number if sign == "-" else number
