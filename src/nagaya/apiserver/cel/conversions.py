"""Turning values of one type into another: `int(...)`, `string(...)`, `timestamp(...)` and the others."""

from __future__ import annotations

import re
from math import isinf, isnan
from typing import Any, Final

from nagaya.apiserver.cel import goformat, times
from nagaya.apiserver.cel.operators import MAX_UINT, checked, checked_timestamp, checked_uint
from nagaya.apiserver.cel.values import CelError, Duration, Timestamp, TypeValue, Uint, type_name
from nagaya.apiserver.meta import integers

_UINT: Final = re.compile(r"\d+", re.ASCII)
_FLOAT: Final = re.compile(
    r"[+-]?(?:(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+)?|inf(?:inity)?|nan"
    r"|0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?\d+)",
    re.ASCII | re.IGNORECASE,
)
_TRUE: Final = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE: Final = {"0", "f", "F", "FALSE", "false", "False"}


def impossible(value: Any, wanted: str) -> CelError:
    """The error of a value that has no counterpart in the wanted type."""
    return CelError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


def to_int(value: Any) -> int:
    """`int(value)`: numbers are cut, dates become seconds, durations nanoseconds."""
    if isinstance(value, str):
        try:
            return integers.parse(value)
        except ValueError:
            raise impossible(value, "int") from None
    if isinstance(value, float):
        if isnan(value) or isinf(value) or not -9223372036854775808.0 < value < 9223372036854775808.0:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, Duration):
        return value.ns
    if isinstance(value, Timestamp):
        return value.ns // times.SECOND
    return checked(int(value))


def to_uint(value: Any) -> Uint:
    """`uint(value)`."""
    if isinstance(value, str):
        digits = value.lstrip("0") or "0"
        if _UINT.fullmatch(value) and len(digits) <= 20 and int(digits) <= MAX_UINT:
            return Uint(digits)
        raise impossible(value, "uint")
    if isinstance(value, float):
        if isnan(value) or isinf(value) or not 0 <= value < 18446744073709551616.0:
            raise CelError("unsigned integer overflow")
        return Uint(int(value))
    return checked_uint(int(value))


def to_double(value: Any) -> float:
    """`double(value)`."""
    if isinstance(value, str):
        try:
            if _FLOAT.fullmatch(value):
                number = float.fromhex(value) if "x" in value.lower() else float(value)
                if not isinf(number) or "inf" in value.lower():
                    return number
        except (ValueError, OverflowError):
            pass
        raise impossible(value, "double")
    return float(value)


def to_bool(value: Any) -> bool:
    """`bool(value)`."""
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise impossible(value, "bool")


def to_bytes(value: str) -> bytes:
    """`bytes(value)`: the UTF-8 of a string."""
    return value.encode()


def to_string(value: Any) -> str:
    """`string(value)`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return goformat.general(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, Duration):
        return times.format_duration(value)
    if isinstance(value, Timestamp):
        return times.format_timestamp(value)
    if isinstance(value, TypeValue):
        return value.name
    raise impossible(value, "string")


def to_timestamp(value: Any) -> Timestamp:
    """`timestamp(value)`: RFC 3339 text, or seconds since 1970."""
    if isinstance(value, str):
        try:
            found = times.parse_timestamp(value)
        except ValueError:
            raise impossible(value, "google.protobuf.Timestamp") from None
        return checked_timestamp(found.ns, found.offset)
    return checked_timestamp(value * times.SECOND)


def to_duration(value: Any) -> Duration:
    """`duration(value)`: text such as `1h`. Numbers are declared to be convertible, and never are."""
    if isinstance(value, str):
        try:
            return times.parse_duration(value)
        except ValueError:
            pass
    raise impossible(value, "google.protobuf.Duration")
