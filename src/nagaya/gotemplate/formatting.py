"""Go's `printf`: the verbs that make sense for JSON's types, with flags, width and precision.

A verb that does not suit its argument shows that in the text, as in Go, and is no error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from nagaya.gotemplate.errors import CallError
from nagaya.gotemplate.values import shown, type_name

_VERB: Final = re.compile(
    r"%(?P<flags>[-+# 0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?(?P<dot>))?(?P<verb>.)?", re.DOTALL
)
_WIDEST: Final = 1_000_000
_LONGEST: Final = 1 << 20
"""Characters that one call may return. The pattern comes from a user, and a width of nine digits is one gigabyte."""
_INTEGERS: Final = {"d": "d", "b": "b", "o": "o", "x": "x", "X": "X"}
_ESCAPES: Final = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def printf(pattern: str, arguments: Sequence[Any]) -> str:
    """Format arguments. Raises CallError if the result would be longer than 1 MiB."""
    out: list[str] = []
    end = used = length = 0
    for found in _VERB.finditer(pattern):
        out.append(pattern[end : found.start()])
        end = found.end()
        verb, flags = found["verb"], found["flags"]
        width, precision = found["width"], found["precision"]
        if width == "*":
            width, used, flags = _starred(arguments, used, flags, out)
        if precision == "*":
            precision, used, _ = _starred(arguments, used, "", out)
        if verb is None:
            out.append("%!(NOVERB)")
        elif verb == "%":
            out.append("%")
        elif used >= len(arguments):
            out.append(f"%!{verb}(MISSING)")
        else:
            exact = _size(precision) if found["dot"] is not None else None
            text = _formatted(verb, flags, exact, arguments[used])
            length += max(len(text), _size(width))
            if length > _LONGEST:
                raise CallError(f"the result is longer than {_LONGEST} characters")
            used += 1
            out.append(_padded(text, _size(width), flags, arguments[used - 1]))
    out.append(pattern[end:])
    if used < len(arguments):
        extra = ", ".join(_typed(each) for each in arguments[used:])
        out.append(f"%!(EXTRA {extra})")
    return "".join(out)


def quoted(text: str) -> str:
    """A text in double quotes, as `%q` shows it."""
    out = ['"']
    for each in text:
        if each in '"\\':
            out.append(f"\\{each}")
        elif each in _ESCAPES:
            out.append(_ESCAPES[each])
        elif each.isprintable():
            out.append(each)
        elif ord(each) < 0x80:
            out.append(f"\\x{ord(each):02x}")
        else:
            out.append(f"\\u{ord(each):04x}" if ord(each) < 0x10000 else f"\\U{ord(each):08x}")
    out.append('"')
    return "".join(out)


def _size(digits: str | None) -> int:
    """Width or precision as a number. Python converts no thousands of digits, so their count is checked first."""
    if digits is not None and (len(digits) > 7 or int(digits or 0) > _WIDEST):
        raise CallError(f"a width or precision is larger than {_WIDEST}")
    return int(digits or 0)


def _starred(arguments: Sequence[Any], used: int, flags: str, out: list[str]) -> tuple[str, int, str]:
    value = arguments[used] if used < len(arguments) else None
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _WIDEST:
        out.append("%!(BADWIDTH)")
        return "", used + 1, flags
    return str(abs(value)), used + 1, flags + ("-" if value < 0 else "")


def _formatted(verb: str, flags: str, precision: int | None, value: Any) -> str:
    if verb == "T":
        return type_name(value)
    if verb == "v" and not isinstance(value, str | int | float):
        return shown(value)
    match value:
        case bool():
            return shown(value) if verb in "tv" else _bad(verb, value)
        case int():
            return _integer(verb, flags, precision, value)
        case float():
            return _float(verb, flags, precision, value)
        case str():
            return _text(verb, flags, precision, value)
    return _bad(verb, value)


def _integer(verb: str, flags: str, precision: int | None, value: int) -> str:
    if verb == "c":
        return chr(value) if 0 <= value <= 0x10FFFF else "\ufffd"
    if verb == "q":
        return f"'{chr(value)}'" if 0 <= value <= 0x10FFFF else "'\ufffd'"
    if verb == "U":
        return f"U+{value:04X}"
    verb = "d" if verb == "v" else verb
    if verb not in (*_INTEGERS, "O"):
        return _bad(verb, value)
    digits = format(abs(value), _INTEGERS.get(verb, "o")).rjust(precision or 0, "0")
    prefix = {"x": "0x", "X": "0X", "o": "0", "b": "0b"}.get(verb, "") if "#" in flags else ""
    prefix = "0o" if verb == "O" else prefix
    return f"{_sign(flags, value < 0)}{prefix}{digits}"


def _float(verb: str, flags: str, precision: int | None, value: float) -> str:
    if verb == "v" or (verb in "gG" and precision is None):
        text = shown(abs(value))
        return f"{_sign(flags, value < 0)}{text}"
    if verb not in "eEfFgG":
        return _bad(verb, value)
    text = format(abs(value), f".{6 if precision is None else precision}{verb}")
    return f"{_sign(flags, value < 0)}{text}"


def _text(verb: str, flags: str, precision: int | None, value: str) -> str:
    cut = value if precision is None else value[:precision]
    match verb:
        case "s" | "v":
            return cut
        case "q":
            return f"`{cut}`" if "#" in flags and "`" not in cut and cut.isprintable() else quoted(cut)
        case "x" | "X":
            digits = cut.encode().hex(" " if " " in flags else "") if " " in flags else cut.encode().hex()
            return digits.upper() if verb == "X" else digits
    return _bad(verb, value)


def _sign(flags: str, negative: bool) -> str:
    if negative:
        return "-"
    return "+" if "+" in flags else " " if " " in flags else ""


def _padded(text: str, width: int, flags: str, value: Any) -> str:
    if width <= len(text):
        return text
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags:
        if isinstance(value, int | float) and text[:1] in ("-", "+", " "):
            return text[0] + text[1:].rjust(width - 1, "0")
        return text.rjust(width, "0")
    return text.rjust(width)


def _bad(verb: str, value: Any) -> str:
    return f"%!{verb}({_typed(value)})"


def _typed(value: Any) -> str:
    name = type_name(value)
    return name if name == "<nil>" else f"{name}={shown(value)}"
