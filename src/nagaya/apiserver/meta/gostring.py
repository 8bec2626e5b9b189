"""Text as Go prints it, because clients and people compare our messages with the real server's."""

from __future__ import annotations

from typing import Any

import orjson

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def quote(text: str) -> str:
    """A string literal as Go's `%q` writes it."""
    return '"' + "".join(_quoted(char) for char in text) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A number as Go's `%v` writes it: the shortest form, with an exponent below 1e-4 and from 1e21 on."""
    if isinstance(value, int):
        return str(value)
    magnitude = abs(value)
    if magnitude == 0 or 1e-4 <= magnitude < 1e21:
        text = format(value, "f") if magnitude >= 1e16 else repr(value)
        return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        mantissa, _, exponent = format(value, "e").partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    power = int(exponent)
    return f"{mantissa.removesuffix('.0')}e{'-' if power < 0 else '+'}{abs(power):02d}"


_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json(value: Any) -> str:
    """A value as Go's `json.Marshal` writes it: map keys sorted, and `<`, `>`, `&` escaped."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    for char, escape in _HTML.items():
        if char in text:
            text = text.replace(char, escape)
    return text
