"""Texts, characters and numbers as Go writes them."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)"
)
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9](?:_?[0-9])*)?(?:\.(?:[0-9](?:_?[0-9])*)?)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?")
_LARGEST: Final = 2**63 - 1


def text(source: str) -> str:
    """What a quoted text says. Raises ValueError."""
    if source.startswith("`"):
        return source[1:-1].replace("\r", "")
    return _unescaped(source[1:-1], '"')


def character(source: str) -> int:
    """The number of a character. Raises ValueError."""
    said = _unescaped(source[1:-1], "'")
    if len(said) != 1:
        raise ValueError(f"malformed character constant: {source}")
    return ord(said)


def number(source: str) -> int | float:
    """A number; one that is written with a point or an exponent is a float. Raises ValueError."""
    if _INTEGER.fullmatch(source):
        value = int(_based(source), 0)
        if not -_LARGEST - 1 <= value <= _LARGEST:
            raise ValueError(f"integer overflow: {source!r}".replace("'", '"'))
        return value
    if source.endswith("i"):
        raise ValueError(f"complex numbers are not supported: {source}")
    if _FLOAT.fullmatch(source) and any(digit.isdigit() for digit in source):
        return float(source.replace("_", ""))
    if re.fullmatch(r"[+-]?0[xX].*[pP].*", source):
        return float.fromhex(source.replace("_", ""))
    raise ValueError(f'illegal number syntax: "{source}"')


def _based(source: str) -> str:
    """With Python's prefix for octal numbers."""
    sign, digits = (source[0], source[1:]) if source[0] in "+-" else ("", source)
    if len(digits) > 1 and digits[0] == "0" and (digits[1].isdigit() or digits[1] == "_"):
        digits = f"0o{digits[1:].lstrip('_')}"
    return sign + digits


def _unescaped(source: str, quote: str) -> str:
    out = bytearray()
    end = 0
    for found in _ESCAPE.finditer(source):
        out += source[end : found.start()].encode()
        end = found.end()
        byte, short, long, octal, simple = found.groups()
        if byte or octal:
            value = int(byte, 16) if byte else int(octal, 8)
            if value > 255:
                raise ValueError("invalid syntax")
            # In a character constant, a byte is a character of its own.
            out += bytes([value]) if quote == '"' else chr(value).encode()
        elif short or long:
            value = int(short or long, 16)
            if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
                raise ValueError("invalid syntax")
            out += chr(value).encode()
        elif simple == quote:
            out += quote.encode()
        elif simple in _SIMPLE:
            out += _SIMPLE[simple].encode()
        else:
            raise ValueError("invalid syntax")
    out += source[end:].encode()
    return out.decode("utf-8", "replace")
