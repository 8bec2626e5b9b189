"""What a scalar in YAML means, as Go's reader of YAML 1.1 decides it.

A scalar without quotes may be a truth value, a number or nothing; with quotes it is always a text. Dates stay texts.
Numbers come out as they would after Go has written them as JSON, so `1.0` is the integer 1.
"""

from __future__ import annotations

import binascii
import math
import re
import struct
from typing import Any, Final

from nagaya.apiserver.meta import base64text, utf8
from nagaya.apiserver.meta.decode_error import DecodeError


class YamlError(DecodeError):
    """A body is no YAML, or more than is accepted; the message is that of Go's reader."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"yaml: {problem}")


_PREFIX: Final = "tag:yaml.org,2002:"
_RESOLVED: Final = frozenset({"", "str", "bool", "int", "float", "null", "timestamp"})


def _spellings(value: Any, *words: str) -> dict[str, Any]:
    return dict.fromkeys(words, value)


_WORDS: Final = {
    **_spellings(True, "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"),
    **_spellings(False, "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"),
    **_spellings(None, "", "~", "null", "Null", "NULL"),
    **_spellings(math.nan, ".nan", ".NaN", ".NAN"),
    **_spellings(math.inf, ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"),
    **_spellings(-math.inf, "-.inf", "-.Inf", "-.INF"),
}
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_POINT_FLOAT: Final = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?", re.ASCII)
_LONGEST_INTEGER: Final = 4000  # Python refuses to convert longer ones


def resolve(tag: str | None, text: str, *, plain: bool) -> Any:
    """The value of a scalar: None, bool, int, float or str. `plain` says that it has no quotes. Raises YamlError."""
    if not tag:
        return _untagged(text) if plain else text
    short = tag.removeprefix(_PREFIX)
    if tag == _PREFIX + "binary":
        return _binary(text)
    if short == tag or short not in _RESOLVED or short == "str":
        return text
    value = _untagged(text)
    found = _kind(value)
    if short == found or (short == "timestamp" and found == "str"):
        return value
    if short == "float" and found == "int":
        return float(value)
    raise YamlError(f"cannot decode !!{found} `{text}` as a !!{short}")


def _untagged(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first in "0123456789+-":
        return _number(text)
    if first == "." and _POINT_FLOAT.fullmatch(text):
        number = float(text)
        return text if math.isinf(number) else number
    return text


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match is not None and len(plain) <= _LONGEST_INTEGER:
        sign, hexadecimal, octal, binary, decimal = match.groups()
        digits, base = next(
            (digits, base)
            for digits, base in ((hexadecimal, 16), (octal, 8), (binary, 2), (decimal, 10))
            if digits is not None
        )
        whole = int(digits, base)
        if sign == "-" and whole <= 1 << 63:
            return -whole
        if whole < (1 << 64 if not sign else 1 << 63) and sign != "-":
            return whole
    if _FLOAT.fullmatch(plain):
        number = float(plain)
        return text if math.isinf(number) else number
    return text


def _binary(text: str) -> str:
    if base64text.first_problem(text) is not None:
        raise YamlError("!!binary value contains invalid base64 data")
    return utf8.read(binascii.a2b_base64(text))


def _kind(value: Any) -> str:
    names = {bool: "bool", int: "int", float: "float", type(None): "null"}
    return names.get(type(value), "str")


def as_json(value: Any) -> Any:
    """A scalar as it is after a round trip through JSON. Raises DecodeError for numbers that JSON does not have."""
    if value.__class__ is not float:
        return value
    if math.isnan(value) or math.isinf(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise DecodeError(f"json: unsupported value: {shown}")
    return int(value) if value.is_integer() and abs(value) < 1 << 63 else value


def as_key(value: Any) -> str:
    """A scalar as the key of a JSON object, which is always a text. Raises DecodeError."""
    if value.__class__ is str:
        return str(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is int and value < 1 << 63:
        return str(value)
    if value.__class__ is float:
        return _float_key(value)
    key = f"uint64, key: 0x{value:x}" if value is not None else "%!s(<nil>), key: <nil>"
    raise DecodeError(f"unsupported map key of type: {key}")


def _float_key(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    # Go prints such keys with single precision: the shortest text that gives the same number again.
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    texts = (f"{single:.{digits}g}" for digits in range(6, 10))
    return next((text for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == single), repr(value))
