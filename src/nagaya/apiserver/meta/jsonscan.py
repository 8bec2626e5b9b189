"""Reads JSON slowly and exactly as Go does, for the few bodies where the fast reader does not tell enough.

That is: to say in Go's words what is wrong with a malformed body, to find keys that are given twice, to replace bytes
that are not UTF-8, and to keep numbers as they were written. Nesting is limited by `MAX_DEPTH`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from nagaya.apiserver.meta import gostring, utf8
from nagaya.apiserver.meta.decode_error import DecodeError

MAX_DEPTH: Final = 200
"""How deep a body may be nested. Go allows 10,000 levels; objects have some dozens, and Python's stack is smaller."""

_EXPLAINED: Final = 256 * 1024
"""Up to this size a malformed body is told in Go's words where it is wrong; that takes a slow look at every byte."""

_TOO_LARGE: Final = "json: cannot unmarshal number {} into Go value of type float64"
_ESCAPES: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRING: Final = re.compile(
    rb'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"',
)
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS: Final = {ord("t"): (b"true", True), ord("f"): (b"false", False), ord("n"): (b"null", None)}
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([\"\\/bfnrt]))"
)
_SHORT: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_INFINITE: Final = frozenset({float("inf"), float("-inf")})
_INT64: Final = range(-(1 << 63), 1 << 63)


class JsonError(DecodeError):
    """A body is no JSON, or more than is accepted; the message is Go's."""


class Members(list[tuple[str, Any]]):
    """An object as it was written: its members in order, also those given twice."""


class Literal(float):
    """A number that is no 64-bit integer, with the text it was written in."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Literal:
        number = super().__new__(cls, text)
        number.text = text
        return number


def scan(body: bytes) -> Any:
    """Read a body. Objects become `Members`, numbers int or `Literal`. Raises JsonError."""
    try:
        scanned = json.loads(
            utf8.read(_ESCAPES.sub(_without_lone_surrogates, body)),
            object_pairs_hook=Members,
            parse_int=_finite,
            parse_float=_finite,
            parse_constant=_refuse,
        )
        problem = "" if _is_shallow(scanned) else "is nested too deep"
    except RecursionError:
        problem = "is nested too deep"
    except ValueError:
        problem = "is not valid JSON"
    if not problem:
        return scanned
    if len(body) > _EXPLAINED:
        raise JsonError(f"the body {problem}")
    return _Scanner(body).document()


def _without_lone_surrogates(match: re.Match[bytes]) -> bytes:
    return b"\\ufffd" if match[1] else match[0]


def _number(text: str) -> int | Literal:
    if len(text) <= 20 and "." not in text and "e" not in text and "E" not in text:
        whole = int(text)
        if whole in _INT64:
            return whole
    return Literal(text)


def _finite(text: str) -> int | Literal:
    number = _number(text)
    if number in _INFINITE:
        raise JsonError(_TOO_LARGE.format(text))
    return number


def _refuse(word: str) -> NoReturn:
    raise JsonError(f"{word} is no JSON")


def _is_shallow(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        depth += 1
        below = [item for each in level if each.__class__ is list for item in each]
        below += [item for each in level if each.__class__ is Members for _, item in each]
        level = [each for each in below if each.__class__ is list or each.__class__ is Members]
    return depth <= MAX_DEPTH


class _Scanner:
    def __init__(self, body: bytes) -> None:
        self.body = body
        self.position = 0
        self.infinite = ""  # the first number that no float can hold: reported only if the body is well-formed
        self.keys: list[str] = []  # of the objects that are open, each waiting for its value

    def document(self) -> Any:
        """The value of the whole body, read with a stack of the lists and objects that are open."""
        value = self.value()
        stack: list[list[Any]] = []
        while True:
            if (value.__class__ is Members or value.__class__ is list) and not self.closes(stack):
                stack.append(value)
                value = self.item(value)
                continue
            while stack:
                parent = stack[-1]
                parent.append((self.keys.pop(), value) if parent.__class__ is Members else value)
                if self.separated(parent):
                    value = self.item(parent)
                    break
                value = stack.pop()
            else:
                return self.end(value)

    def closes(self, stack: list[list[Any]]) -> bool:
        """Whether the list or object that has just been opened is closed at once."""
        bracket = self.body[self.position - 1]
        if len(stack) >= MAX_DEPTH:
            self.fail(bracket, "exceeded max depth")
        if self.peek() == bracket + 2:  # in ASCII a closing bracket comes two after its opening one
            self.position += 1
            return True
        return False

    def item(self, parent: list[Any]) -> Any:
        """The next value of a list or an object; in an object its key comes first."""
        if parent.__class__ is Members:
            self.key()
        return self.value()

    def key(self) -> None:
        char = self.peek()
        if char != ord('"'):
            self.fail(char, "looking for beginning of object key string")
        self.keys.append(self.string())
        char = self.peek()
        if char != ord(":"):
            self.fail(char, "after object key")
        self.position += 1

    def separated(self, parent: list[Any]) -> bool:
        """Whether another item follows; if not, the parent is closed."""
        char = self.peek()
        is_object = parent.__class__ is Members
        if char not in (b",}" if is_object else b",]"):
            self.fail(char, "after object key:value pair" if is_object else "after array element")
        self.position += 1
        return char == ord(",")

    def end(self, value: Any) -> Any:
        match = _SPACE.match(self.body, self.position)
        after = match.end() if match else self.position
        if after < len(self.body):
            self.fail(self.body[after], "after top-level value")
        if self.infinite:
            raise JsonError(_TOO_LARGE.format(self.infinite))
        return value

    def peek(self) -> int:
        """The next byte that is not space; a space when there is none."""
        match = _SPACE.match(self.body, self.position)
        assert match is not None
        self.position = match.end()
        return self.body[self.position] if self.position < len(self.body) else ord(" ")

    def value(self) -> Any:
        char = self.peek()
        if char == ord('"'):
            return self.string()
        if char == ord("{"):
            self.position += 1
            return Members()
        if char == ord("["):
            self.position += 1
            return []
        if char in _LITERALS:
            return self.literal(*_LITERALS[char])
        if char in b"-0123456789":
            return self.number()
        return self.fail(char, "looking for beginning of value")

    def literal(self, word: bytes, value: bool | None) -> bool | None:
        for offset in range(1, len(word)):
            if self.at(self.position + offset) != word[offset]:
                expected = f"in literal {word.decode()} (expecting '{chr(word[offset])}')"
                self.fail_inside(self.position + offset, expected)
        self.position += len(word)
        return value

    def number(self) -> int | Literal:
        match = _NUMBER.match(self.body, self.position)
        if match is None:
            self.fail_inside(self.position + 1, "in numeric literal")
        text, end = match[0], match.end()
        following = self.body[end : end + 1]
        if b"e" not in text.lower():
            if following == b"." and b"." not in text:
                self.fail_inside(end + 1, "after decimal point in numeric literal")
            if following in {b"e", b"E"}:
                sign = self.body[end + 1 : end + 2] in {b"+", b"-"}
                self.fail_inside(end + 1 + sign, "in exponent of numeric literal")
        self.position = end
        number = _number(text.decode())
        if number in _INFINITE and not self.infinite:
            self.infinite = text.decode()
        return number

    def string(self) -> str:
        match = _STRING.match(self.body, self.position)
        if match is None:
            self.fail_in_string()
        self.position = match.end()
        text = utf8.read(match[0][1:-1])
        return _ESCAPE.sub(_unescape, text) if "\\" in text else text

    def fail_in_string(self) -> NoReturn:
        position = self.position + 1
        while True:
            char = self.at(position)
            if position >= len(self.body):
                raise JsonError("unexpected end of JSON input")
            if char < 0x20:
                self.fail(char, "in string literal")
            position += 1
            if char == ord("\\"):
                escape = self.at(position)
                if escape not in b'"\\/bfnrtu':
                    self.fail_inside(position, "in string escape code")
                position += 1
                if escape == ord("u"):
                    for _ in range(4):
                        if self.at(position) not in b"0123456789abcdefABCDEF":
                            self.fail_inside(position, "in \\u hexadecimal character escape")
                        position += 1

    def at(self, position: int) -> int:
        return self.body[position] if position < len(self.body) else ord(" ")

    def fail_inside(self, position: int, context: str) -> NoReturn:
        """Complain about a byte inside a literal; there the end of the body counts as a space."""
        self.fail(self.at(position), context, at_end=True)

    def fail(self, char: int, context: str, *, at_end: bool = False) -> NoReturn:
        if char == ord(" ") and not at_end:
            raise JsonError("unexpected end of JSON input")
        raise JsonError(f"invalid character {_quoted(char)} {context}")


def _unescape(match: re.Match[str]) -> str:
    high, low, single, short = match.groups()
    if short is not None:
        return _SHORT[short]
    if single is not None:
        code = int(single, 16)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)
    return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))


def _quoted(char: int) -> str:
    if char == ord("'"):
        return "'\\''"
    if char == ord('"'):
        return "'\"'"
    return f"'{gostring.quote(chr(char))[1:-1]}'"


def duplicates(value: Any) -> list[str]:
    """The keys that are given twice in the same object, in the order and the words of the real server."""
    found: dict[str, None] = {}
    _collect(value, (), found)
    return [f"duplicate field {gostring.quote(path)}" for path in found]


_MOST_SHOWN: Final = 64 * 1024
_Steps = tuple[Any, ...]
"""The last step into a value, and the steps before it: most places are never named."""


def _collect(value: Any, steps: _Steps, found: dict[str, None]) -> None:
    if value.__class__ is Members:
        seen: dict[str, bool] = {}  # whether the key is among the findings
        for key, member in value:
            if key in seen and not seen[key] and len(found) < 100 and sum(map(len, found)) < _MOST_SHOWN:
                found[_path((key, steps))] = None
                seen[key] = True
            seen.setdefault(key, False)
            _collect(member, (key, steps), found)
    elif value.__class__ is list:
        for index, item in enumerate(value):
            _collect(item, (index, steps), found)


def _path(steps: _Steps) -> str:
    parts: list[str] = []
    while steps:
        step, steps = steps
        parts.append(f"[{step}]" if step.__class__ is int else f".{step}" if steps else step)
    return "".join(reversed(parts))


def plain(value: Any) -> Any:
    """The same value as dicts, lists, ints and floats. Of members that are given twice the last one counts."""
    if value.__class__ is Members:
        return {key: plain(member) for key, member in value}
    if value.__class__ is dict:
        return {key: plain(member) for key, member in value.items()}
    if value.__class__ is list:
        return [plain(item) for item in value]
    return float(value) if value.__class__ is Literal else value


def exact(value: Any) -> Any:
    """The same value as dicts and lists, with numbers as `Literal` where the text of a number matters."""
    if value.__class__ is Members:
        return {key: exact(member) for key, member in value}
    return [exact(item) for item in value] if value.__class__ is list else value
