"""`format`: text with `%s`, `%d`, `%f` and other clauses filled from a list.

`clauses` takes a format apart; the function below fills it, and a validator checks literal formats before they run.
The letters after a clause decide what may be filled in; `%f` and `%e` print as American English does, as the real
server does too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isinf, isnan
from typing import Any, Final, NamedTuple

from nagaya.apiserver.cel.budget import Budget
from nagaya.apiserver.cel.conversions import to_double, to_string
from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.times import format_duration, format_timestamp
from nagaya.apiserver.cel.values import (
    CelError,
    Duration,
    MapLike,
    Timestamp,
    TypeValue,
    Uint,
    type_name,
)
from nagaya.apiserver.meta import gostring

_PRECISION: Final = re.compile(r"\.(\d*)", re.ASCII)
_MAX_PRECISION: Final = 1000
_SUPERSCRIPT: Final = str.maketrans("+-0123456789", "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NOT_NUMBERS: Final = {"NaN", "Infinity", "-Infinity"}

WRONG_TYPE: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
    " timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
"""What is said about a value that does not fit a clause, by the clause's letter."""


class Clause(NamedTuple):
    """A place to fill: the letter, the wished precision, and which value goes there."""

    letter: str
    precision: int | None
    place: int


def clauses(text: str, available: int) -> Iterator[str | Clause]:
    """The format in pieces: literal text and clauses. Raises CelError at the first piece that is wrong."""
    position, index = 0, 0
    while position < len(text):
        percent = text.find("%", position)
        if percent < 0:
            yield text[position:]
            return
        if percent > position:
            yield text[position:percent]
        if text[percent + 1 : percent + 2] == "%":
            yield "%"
            position = percent + 2
            continue
        if percent + 1 >= len(text):
            raise CelError("unexpected end of string")
        if index >= available:
            raise CelError(f"index {index} out of range")
        clause, position = _clause(text, percent + 1, index)
        yield clause
        index += 1


def _clause(text: str, position: int, index: int) -> tuple[Clause, int]:
    precision = None
    found = _PRECISION.match(text, position)
    if found is not None:
        where = "could not parse formatting clause: error while parsing precision"
        if found.end() >= len(text):
            raise CelError(f"{where}: could not find end of precision specifier")
        if not found[1]:
            raise CelError(
                f'{where}: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            )
        precision = int(found[1])
        position = found.end()
    letter = text[position]
    if letter not in "sdfebxXo":
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
    return Clause(letter, precision, index), position + 1


def _format(budget: Budget, text: str, values: list[Any]) -> str:
    out: list[str] = []
    for piece in _pieces(text, values):
        if isinstance(piece, str):
            out.append(piece)
            continue
        try:
            filled = _fill(piece, values[piece.place])
        except _WrongTypeError as error:
            message = WRONG_TYPE[piece.letter.lower()].format(error.given)
            raise CelError(f"error during formatting: {message}") from None
        except CelError as error:
            raise CelError(f"error during formatting: {error}") from None
        # Writing out a list or map takes longer than copying text.
        budget.spend(len(filled) // (3 if isinstance(values[piece.place], (list, dict, MapLike)) else 10))
        out.append(filled)
    return "".join(out)


def _pieces(text: str, values: list[Any]) -> Iterator[str | Clause]:
    # Without a value for it, even a broken clause is first of all one too many.
    try:
        yield from clauses(text, len(values))
    except CelError as error:
        if str(error) == "unexpected end of string" and text.replace("%%", "").count("%") > len(values):
            raise CelError(f"index {len(values)} out of range") from None
        raise


class _WrongTypeError(Exception):
    def __init__(self, value: Any) -> None:
        self.given = type_name(value)


def _fill(clause: Clause, value: Any) -> str:
    kind = type(value)
    match clause.letter:
        case "s":
            return _string(value)
        case "d":
            if kind is int or kind is Uint:
                return str(int(value))
        case "f" | "e":
            if kind is float or (kind is str and value in _NOT_NUMBERS):
                number = to_double(value)
                return (
                    _fixed(number, clause.precision) if clause.letter == "f" else _scientific(number, clause.precision)
                )
        case "b":
            if kind is int or kind is Uint or kind is bool:
                return format(int(value), "b")
        case "x" | "X":
            return _hexadecimal(value, clause.letter)
        case "o":
            if kind is int or kind is Uint:
                return format(int(value), "o")
    raise _WrongTypeError(value)


def _hexadecimal(value: Any, letter: str) -> str:
    if type(value) is int or type(value) is Uint:
        return format(int(value), letter)
    if isinstance(value, (str, bytes)):
        text = (value.encode() if isinstance(value, str) else value).hex()
        return text.upper() if letter == "X" else text
    raise _WrongTypeError(value)


def _fixed(number: float, precision: int | None) -> str:
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "∞" if number > 0 else "-∞"
    return format(number, f",.{min(6 if precision is None else precision, _MAX_PRECISION)}f")


def _scientific(number: float, precision: int | None) -> str:
    # The wished precision is taken for the least width; digits are always six.
    width = min(6 if precision is None else precision, _MAX_PRECISION)
    if isnan(number):
        return "NaN".rjust(width)
    if isinf(number):
        return ("∞" if number > 0 else "-∞").rjust(width)
    mantissa, exponent = format(number, ".6e").split("e")
    power = int(exponent)
    raised = f"{'-' if power < 0 else ''}{abs(power):02d}".translate(_SUPERSCRIPT)
    return f"{mantissa}×10{raised}".rjust(width)


def _string(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(_element, value))}]"
    if isinstance(value, (dict, MapLike)):
        return _map(value)
    if isinstance(value, (str, int, float, bytes, Duration, Timestamp, TypeValue)):
        try:
            return to_string(value)
        except CelError as error:
            raise CelError(f"could not convert argument {gostring.quote(str(error))} to string") from None
    raise _WrongTypeError(value)


def _element(value: Any) -> str:
    """A value within a list or map: written so that it could stand in an expression."""
    if isinstance(value, str):
        return gostring.quote(value)
    if isinstance(value, bytes):
        return "b" + gostring.quote(_string(value))
    if isinstance(value, Timestamp):
        return f"timestamp({gostring.quote(format_timestamp(value))})"
    if isinstance(value, Duration):
        return f"duration({gostring.quote(format_duration(value))})"
    if isinstance(value, float):
        if isnan(value) or isinf(value):
            return '"NaN"' if isnan(value) else '"+Inf"' if value > 0 else '"-Inf"'
        return format(value, ".6f")
    if value is not None and not isinstance(value, (bool, int, list, dict, MapLike, TypeValue)):
        raise CelError(f"no formatting function for {type_name(value)}")
    return _string(value)


def _map(value: dict[Any, Any] | MapLike) -> str:
    entries = []
    for key in value.keys():  # noqa: SIM118 - objects are no mappings of Python's
        if not isinstance(key, (str, bool, int)):
            raise CelError(f"no formatting function for map key of type {type_name(key)}")
        item = value.find(key) if isinstance(value, MapLike) else value[key]
        entries.append((_element(key), _element(item)))
    return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(entries)) + "}"


FUNCTIONS: Final = (function("format", overload("string.(list(dyn)) -> string", _format), charged=True),)
