"""JSON values as Go prints them in error messages.

A value that does not fit its type is shown with `%v`, `%#v` or `%T`; these texts reach the client unchanged.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.meta import gostring


def number(value: float) -> str:
    """A float as `%v` writes it: the shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    sign = "-" if repr(value).startswith("-") else ""
    digits, power = _shortest(abs(value))
    if -4 <= power < 6:
        return sign + _positional(digits, power)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _shortest(value: float) -> tuple[str, int]:
    """The significant digits of a number and the power of ten of the first of them."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    if not significant:
        return "0", 0
    power = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(significant))
    return significant.rstrip("0"), power


def _positional(digits: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    whole, fraction = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def plain(value: Any) -> str:
    """A value as `%v` writes it."""
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return "[" + " ".join(plain(item) for item in value) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{plain(value[name])}" for name in sorted(value)) + "]"
    return str(value)


def literal(value: Any) -> str:
    """A value as `%#v` writes it."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return gostring.quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(literal(item) for item in value) + "}"
    if isinstance(value, dict):
        items = ", ".join(f"{gostring.quote(name)}:{literal(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    return plain(value)


def type_name(value: Any) -> str:
    """The Go type of a decoded value, as `%T` writes it."""
    names = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}
    if value is None:
        return "<nil>"
    return names.get(value.__class__, "map[string]interface {}")
