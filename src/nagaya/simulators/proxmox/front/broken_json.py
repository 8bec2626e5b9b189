"""What Perl's reader of JSON says of a text that is none: clients see it word for word, with the place.

It reads the text once more, as that reader does, up to where it gives up.
"""

from __future__ import annotations

import re

_BLANK = re.compile(r"[ \t\r\n]*")
_DIGITS = re.compile(r"[0-9]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_SHOWN = 20
_DEEPEST = 512
_NOTHING = "malformed JSON string, neither tag, array, object, number, string or atom"


class _Broken(Exception):
    def __init__(self, why: str, position: int) -> None:
        super().__init__(why)
        self.why = why
        self.position = position


def complaint(body: bytes) -> str:
    """Why a text cannot be read, and where; of one that can be, that there is nothing."""
    text = body.decode("utf-8", "replace")
    try:
        end = _blank(text, _value(text, _blank(text, 0), 0))
        if end == len(text):
            raise _Broken(_NOTHING, end)
        raise _Broken("garbage after JSON object", end)
    except _Broken as broken:
        rest = text[broken.position :] or "(end of string)"
        shown = rest[:_SHOWN] + ("..." if len(rest) > _SHOWN else "")
        return f'{broken.why}, at character offset {broken.position} (before "{shown}")'


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _value(text: str, at: int, depth: int) -> int:
    if depth > _DEEPEST:
        raise _Broken("json text or perl structure exceeds maximum nesting level (max_depth set too low?)", at)
    match text[at : at + 1]:
        case '"':
            return _string(text, at + 1)
        case "[":
            return _array(text, at + 1, depth + 1)
        case "{":
            return _object(text, at + 1, depth + 1)
        case "t" | "f" | "n" as first:
            word = {"t": "true", "f": "false", "n": "null"}[first]
            if text.startswith(word, at):
                return at + len(word)
            raise _Broken(f"'{word}' expected", at)
        case character if character and character in "-0123456789":
            return _number(text, at)
        case _:
            raise _Broken(_NOTHING, at)


def _array(text: str, at: int, depth: int) -> int:
    at = _blank(text, at)
    if text.startswith("]", at):
        return at + 1
    while True:
        at = _blank(text, _value(text, at, depth))
        if text.startswith("]", at):
            return at + 1
        if not text.startswith(",", at):
            raise _Broken(", or ] expected while parsing array", at)
        at = _blank(text, at + 1)


def _object(text: str, at: int, depth: int) -> int:
    at = _blank(text, at)
    if text.startswith("}", at):
        return at + 1
    while True:
        at = _blank(text, _string(text, _expected(text, at, '"')))
        at = _blank(text, _expected(text, at, ":"))
        at = _blank(text, _value(text, at, depth))
        if text.startswith("}", at):
            return at + 1
        if not text.startswith(",", at):
            raise _Broken(", or } expected while parsing object/hash", at)
        at = _blank(text, at + 1)


def _expected(text: str, at: int, character: str) -> int:
    if not text.startswith(character, at):
        raise _Broken(f"'{character}' expected", at)
    return at + 1


def _string(text: str, at: int) -> int:
    while True:
        plain = _PLAIN.match(text, at)
        at = at if plain is None else plain.end()
        match text[at : at + 1]:
            case '"':
                return at + 1
            case "":
                raise _Broken("unexpected end of string while parsing JSON string", at)
            case "\\":
                escape = _ESCAPE.match(text, at)
                if escape is None:
                    raise _Broken("illegal backslash escape sequence in string", at)
                at = escape.end()
            case other:
                raise _Broken(f"invalid character 0x{ord(other):X} encountered while parsing JSON string", at)


def _number(text: str, at: int) -> int:
    if text.startswith("-", at):
        at += 1
    if text.startswith("0", at):
        at += 1
        if text[at : at + 1].isdigit():
            raise _Broken("malformed number (leading zero must not be followed by another digit)", at)
    else:
        at = _digits(text, at, "malformed number (no digits after initial minus)")
    if text.startswith(".", at):
        at = _digits(text, at + 1, "malformed number (no digits after decimal point)")
    if text[at : at + 1] in ("e", "E"):
        at += 2 if text[at + 1 : at + 2] in ("+", "-") else 1
        at = _digits(text, at, "malformed number (no digits after exp sign)")
    return at


def _digits(text: str, at: int, otherwise: str) -> int:
    found = _DIGITS.match(text, at)
    if found is None:
        raise _Broken(otherwise, at)
    return found.end()
