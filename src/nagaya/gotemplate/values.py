"""Data as a template sees them: whether something is true, what it is called, and how it is put out.

JSON's numbers are Go's `int64` and `float64`, its objects `map[string]interface {}` and its lists `[]interface {}`:
that is what Go programs decode them to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final


class Missing:
    """No value at all: an entry that a map does not have, or JSON's null."""

    def __str__(self) -> str:
        return "<no value>"


MISSING: Final = Missing()
_EXPONENT_FROM: Final = 6
"""From this power of ten on, floats are put out with an exponent."""


def is_list(value: object) -> bool:
    """Whether a value has elements by number, and is no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def truth(value: object) -> bool:
    """Everything but false, zero, nothing and what is empty."""
    if value is None or value is MISSING:
        return False
    return bool(value)


def type_name(value: object) -> str:
    """What Go calls the type of a value."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float64"
        case str():
            return "string"
        case Mapping():
            return "map[string]interface {}"
        case None | Missing():
            return "<nil>"
    return "[]interface {}"


def printed(value: Any) -> str:
    """What an action puts out."""
    return str(MISSING) if value is None or value is MISSING else shown(value)


def shown(value: Any) -> str:
    """A value as `%v` shows it."""
    match value:
        case None | Missing():
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case Mapping():
            return "map[" + " ".join(f"{key}:{shown(value[key])}" for key in sorted(value)) + "]"
        case _ if is_list(value):
            return "[" + " ".join(map(shown, value)) + "]"
    return str(value)


def go_float(value: float) -> str:
    """A float in the shortest form that is read back as the same, with an exponent as Go's `%v` has it."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    digits, _, exponent = f"{value!r}".partition("e")
    mantissa, _, fraction = digits.lstrip("-").partition(".")
    plain = (mantissa + fraction.rstrip("0")).lstrip("0") or "0"
    if plain == "0":
        return "-0" if str(value).startswith("-") else "0"
    power = int(exponent or 0) + len(mantissa.lstrip("0")) - 1
    if not mantissa.strip("0"):
        power = int(exponent or 0) - (len(fraction) - len(fraction.lstrip("0"))) - 1
    sign = "-" if value < 0 else ""
    plain = plain.rstrip("0") or "0"
    if power < -4 or power >= _EXPONENT_FROM:
        rest = f".{plain[1:]}" if len(plain) > 1 else ""
        return f"{sign}{plain[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{plain}"
    whole = plain[: power + 1].ljust(power + 1, "0")
    rest = plain[power + 1 :]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"
