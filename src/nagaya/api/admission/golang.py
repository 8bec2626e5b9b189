"""Values and errors as Go prints them, because messages are compared with those of Cluster API and Kubernetes."""

from __future__ import annotations

import json
import re
from typing import Any, Final

_ESCAPES: Final = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}
)
_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_is_decimal = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch


class NotANumber(ValueError):
    """A text that is no number, with the message of Go's strconv."""


def quote(text: str) -> str:
    """A text as `%q` writes it."""
    return '"' + "".join(map(_printable, text.translate(_ESCAPES))) + '"'


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def marshal(value: Any) -> str:
    """A value as `json.Marshal` writes it: without spaces, and with what HTML could take for its own escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_HTML)


def parse_int(text: str, *, bits: int = 64, function: str = "Atoi") -> int:
    """A decimal number. Raises NotANumber."""
    if not _is_decimal(text):
        raise NotANumber(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise NotANumber(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return number
