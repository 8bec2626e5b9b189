"""Text as Go prints it, because clients and people compare our messages with the real server's."""

from __future__ import annotations

from typing import Any, Final

import orjson

ESCAPES: Final = {
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
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A number as Go's `%v` writes it: the shortest form, for floats with an exponent below 1e-4 and from 1e6 on."""
    if isinstance(value, int):
        return str(value)
    magnitude = abs(value)
    if magnitude == 0 or 1e-4 <= magnitude < 1e6:
        return repr(value).removesuffix(".0")
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        digits = repr(magnitude).removesuffix(".0").replace(".", "")
        power = len(str(int(magnitude))) - 1
        mantissa = f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
    else:
        power = int(exponent)
        mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


_HTML: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json(value: Any) -> str:
    """A value as Go's `json.Marshal` writes it: map keys sorted, and `<`, `>`, `&` escaped."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    for char, escape in _HTML.items():
        if char in text:
            text = text.replace(char, escape)
    return text
