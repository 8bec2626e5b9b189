"""The values that literals in an expression stand for. Failures are ValueErrors with the parser's words."""

from __future__ import annotations

import re
from typing import Final

from nagaya.apiserver.cel.values import Uint

_SIMPLE: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_ESCAPE: Final = re.compile(r"\\(?:([0-3][0-7][0-7])|[xX]([0-9a-fA-F]{2})|u(.{4})|U(.{8})|(.))", re.DOTALL)
_MAX_INT: Final = 2**63 - 1
_MAX_UINT: Final = 2**64 - 1


def integer(text: str) -> int:
    """A signed number, decimal or `0x`."""
    negative = text.startswith("-")
    digits = text[1:] if negative else text
    value = int(digits[2:], 16) if digits.startswith("0x") else int(digits)
    value = -value if negative else value
    if not -_MAX_INT - 1 <= value <= _MAX_INT:
        raise ValueError("invalid int literal")
    return value


def unsigned(text: str) -> Uint:
    """An unsigned number with its `u`."""
    digits = text[:-1]
    value = int(digits[2:], 16) if digits.startswith("0x") else int(digits)
    if value > _MAX_UINT:
        raise ValueError("invalid uint literal")
    return Uint(value)


def double(text: str) -> float:
    """A number with a fraction or exponent."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("invalid double literal")
    return value


def string(text: str) -> str:
    """A quoted string, raw or with escapes."""
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def bytestring(text: str) -> bytes:
    """A quoted byte string: escapes stand for bytes, anything else for its UTF-8."""
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode()
    out = bytearray()
    position = 0
    for found in _ESCAPE.finditer(body):
        out += body[position : found.start()].encode()
        octal, short, _, _, simple = found.groups()
        if octal is not None or short is not None:
            out.append(int(octal, 8) if octal is not None else int(short, 16))
        elif simple is not None and simple in _SIMPLE:
            out += _SIMPLE[simple].encode()
        else:
            raise ValueError("unable to unescape string")
        position = found.end()
    return bytes(out + body[position:].encode())


def _body(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if len(text) >= 6 and text.startswith(('"""', "'''")) else 1
    return text[quotes:-quotes], raw


def _character(found: re.Match[str]) -> str:
    octal, short, four, eight, simple = found.groups()
    if simple is not None:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal is not None else int(short or four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError("invalid unicode code point")
    return chr(code)
