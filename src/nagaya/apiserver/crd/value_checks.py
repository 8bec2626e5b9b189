"""The elementary questions a schema asks of a value, with the answers the real server gives.

`accept` compiles them into fast yes-or-no checks, `explain` turns a no into words; both stand on these functions so
that they cannot disagree. The answers depend on how Go holds a JSON number (int64 or float64), and on a few historical
accidents, which objects in the wild rely on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from nagaya.apiserver.crd import formats
from nagaya.apiserver.crd.schema import Schema

_JSON_TYPES: Final[dict[type, tuple[str, str]]] = {
    str: ("string", ""),
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_MAX_EXACT: Final = float(2**53 - 1)
_LIMITS: Final = {"int32": 2**31, "int64": 2**63, "": 2**63}
_MAX_FLOAT32: Final = 3.4028235677973366e38


@dataclass(frozen=True, slots=True)
class Typing:
    """What a schema says about the type of a value: the types it may have and the format that counts."""

    types: tuple[str, ...]
    format: str
    nullable: bool

    @property
    def expected(self) -> str:
        """The types in the words of a message."""
        return ",".join(self.types)

    @property
    def number(self) -> tuple[str, str]:
        """The one numeric type and format whose range a number has to fit in, both empty if there is none."""
        if self.types == ("integer",):
            return "integer", self.format if self.format in ("int32", "int64") else ""
        if self.types == ("number",):
            return "number", self.format if self.format in ("float", "double") else ""
        return "", ""


def typing_of(schema: Schema, *, as_written: bool = False) -> Typing:
    """How a schema types its values.

    For objects, `x-kubernetes-int-or-string` stands for two types and formats that mean nothing are ignored. Defaults
    in a definition have always been checked against the schema `as_written`.
    """
    types: tuple[str, ...] = (schema.type,) if schema.type else ()
    if as_written:
        return Typing(types, schema.format, schema.nullable)
    if schema.int_or_string:
        types = ("integer", "string")
    single = types[0] if len(types) == 1 else ""
    kept = schema.format if schema.format and formats.means_something(schema.format, single) else ""
    return Typing(types, kept, schema.nullable)


def is_whole(number: float) -> bool:
    """Whether a float counts as an integer: it may be off by a billionth."""
    if not -_MAX_EXACT <= number <= _MAX_EXACT:
        return False
    if number == int(number):
        return True
    if number < 1:
        return False
    whole = float(int(number))
    return (number - whole) / (number + whole) < 1e-9


def type_problem(typing: Typing, value: Any) -> tuple[str, str] | None:
    """What was expected and what was found, if the type of a value is wrong."""
    if value is None:
        return (
            (typing.expected, "null") if typing.types and not typing.nullable and "null" not in typing.types else None
        )
    if not typing.types and not typing.format:
        return None
    found, found_format = _JSON_TYPES.get(type(value), ("", ""))
    fits = (
        found in typing.types
        or (found == "number" and "integer" in typing.types and is_whole(value))
        or (found == "integer" and "number" in typing.types)
    )
    textual = found in ("string", "array")
    if not textual and typing.format and not fits and found_format != typing.format:
        return typing.format, found_format
    if textual and typing.format and not {"number", "integer"} & set(typing.types):
        # A list passes for a formatted string; it always has.
        return None
    return None if fits else (typing.expected, found)


def fits_range(value: float, type_name: str, format_name: str) -> bool:
    """Whether a number can be held by the numeric type and format of a schema."""
    if type_name == "integer":
        if value != value or value in (math.inf, -math.inf) or value != int(value):
            return False
        limit = _LIMITS[format_name]
        return -limit <= int(value) < limit
    if format_name == "float":
        return -_MAX_FLOAT32 < value < _MAX_FLOAT32
    return True


def exceeds(value: float, bound: float, *, exclusive: bool, native: bool) -> bool:
    """Whether a number is above a maximum. An integer is compared with the integer part of the bound if `native`."""
    limit = int(bound) if native and isinstance(value, int) else bound
    return value >= limit if exclusive else value > limit


def undercuts(value: float, bound: float, *, exclusive: bool, native: bool) -> bool:
    """Whether a number is below a minimum, compared in the same way."""
    limit = int(bound) if native and isinstance(value, int) else bound
    return value <= limit if exclusive else value < limit


def factor_for(value: float, multiple_of: float, *, native: bool) -> float:
    """The factor a number is divided by: for an integer, the integer part of it if `native`."""
    return int(multiple_of) if native and isinstance(value, int) else multiple_of


def is_multiple(value: float, factor: float) -> bool:
    """Whether a number is a multiple of a positive factor."""
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    return is_whole(1 / factor * value if factor < 1 else value / factor)


def enum_has(enum: list[Any], value: Any) -> bool:
    """Whether a value is one of those listed, after Go's conversion to the type of each. Null never is."""
    return value is not None and any(each is not None and _converts_to(value, each) for each in enum)


def _converts_to(value: Any, listed: Any) -> bool:
    if isinstance(value, bool) or isinstance(listed, bool):
        return value is listed
    if isinstance(value, (int, float)):
        if isinstance(listed, int):
            return not math.isinf(value) and int(value) == listed
        if isinstance(listed, float):
            return float(value) == listed
        # Go converts an integer to the text with that code point.
        return isinstance(value, int) and isinstance(listed, str) and listed == _character(value)
    return same(value, listed)


def _character(code: int) -> str:
    return chr(code) if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal and held by the same types: 1, 1.0 and true are three values."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(same(each, other) for each, other in zip(left, right, strict=True))
    return bool(left == right)
