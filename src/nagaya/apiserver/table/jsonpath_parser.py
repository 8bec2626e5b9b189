"""Reads the JSONPath dialect of kubectl into a tree of nodes.

The dialect is not the standard: `['a.b']` is the same as `.a.b` (a dot in a key is written `\\.`), `@` and `$` are
skipped, a filter is one comparison. What is accepted here is exactly what the API server accepts, because a column
whose path cannot be read ends the list of columns.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from nagaya.apiserver.meta import integers

_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")
_DICT_KEY: Final = re.compile("'([^']*)'")
_SLICE: Final = re.compile("(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_FILTER: Final = re.compile("([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_HEX: Final = {"x": 2, "u": 4, "U": 8}


class JsonPathError(ValueError):
    """A path that cannot be read."""


class FieldNode(NamedTuple):
    """A member of a map."""

    name: str


class SliceNode(NamedTuple):
    """Items of a list. With `single` the end was not given but follows from the start."""

    start: int | None
    end: int | None
    step: int | None
    single: bool


class LiteralNode(NamedTuple):
    """A number, a truth value or a quoted text."""

    value: str | int | float | bool


class WildcardNode(NamedTuple):
    """All members or items."""


class RecursiveNode(NamedTuple):
    """The value and everything below it."""


class IdentifierNode(NamedTuple):
    """A word such as `range`, which means nothing in a column."""

    name: str


class UnionNode(NamedTuple):
    """The results of several paths after one another."""

    branches: tuple[tuple[Node, ...], ...]


class FilterNode(NamedTuple):
    """The items of a list for which a comparison holds. The operator `exists` has no right side."""

    left: tuple[Node, ...]
    operator: str
    right: tuple[Node, ...]


Node = FieldNode | SliceNode | LiteralNode | WildcardNode | RecursiveNode | IdentifierNode | UnionNode | FilterNode
Path = tuple[Node, ...]


def parse(text: str) -> tuple[Path, ...]:
    """Read a column's path. A path that closes its own brace has several parts; usually there is one."""
    return _parse_template(f"{{{text}}}")


def _parse_template(template: str) -> tuple[Path, ...]:
    parts: list[Path] = []
    at = 0
    while at < len(template):
        if template[at] == "{":
            reader = _Reader(template, at + 1)
            parts.append(reader.action())
            at = reader.at
        else:
            end = template.find("{", at)
            end = len(template) if end < 0 else end
            parts.append((LiteralNode(template[at:end]),))
            at = end
    return tuple(parts)


def _parse_action(text: str) -> Path:
    """The nodes of a path inside another one."""
    return _parse_template(f"{{{text}}}")[0]


class _Reader:
    """A place in a template, between braces."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def action(self) -> Path:
        """All nodes up to the closing brace."""
        nodes: list[Node] = []
        while True:
            if self._text.startswith("}", self.at):
                self.at += 1
                return tuple(nodes)
            if self._text.startswith("[?(", self.at):
                nodes.append(self._filter())
            elif self._text.startswith("..", self.at):
                if nodes and isinstance(nodes[-1], RecursiveNode):
                    raise JsonPathError("invalid multiple recursive descent")
                self.at += 2
                nodes.append(RecursiveNode())
                if self._is_word(self._peek()):
                    nodes.append(self._field())
            else:
                nodes += self._node()

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]

    @staticmethod
    def _is_word(char: str) -> bool:
        return char == "_" or char.isalpha() or char.isdecimal()

    def _node(self) -> Path:
        char = self._peek()
        if char in ("", "\r", "\n"):
            raise JsonPathError("unclosed action")
        if char in " @$":
            self.at += 1
            return ()
        if char == "[":
            return self._array()
        if char in "\"'":
            return (self._quoted(char),)
        if char == ".":
            self.at += 1
            return (self._field(),)
        if char in "+-" or char.isdecimal():
            return (self._number(),)
        if self._is_word(char):
            return (self._identifier(),)
        raise JsonPathError(f"unrecognized character in action: U+{ord(char):04X} '{char}'")

    def _field(self) -> Node:
        start = self.at
        while (char := self._peek()) and char not in _TERMINATORS:
            self.at += 2 if char == "\\" else 1
        self.at = min(self.at, len(self._text))
        name = self._text[start : self.at]
        return WildcardNode() if name == "*" else FieldNode(name.replace("\\", ""))

    def _identifier(self) -> Node:
        start = self.at
        while (char := self._peek()) and char not in _TERMINATORS:
            self.at += 1
        word = self._text[start : self.at]
        return LiteralNode(word == "true") if word in ("true", "false") else IdentifierNode(word)

    def _number(self) -> Node:
        start = self.at
        if self._peek() in "+-":
            self.at += 1
        while (char := self._peek()) and (char == "." or char.isdecimal()):
            self.at += 1
        text = self._text[start : self.at]
        if not _NUMBER.fullmatch(text):
            raise JsonPathError(f"cannot parse number {text}")
        try:
            return LiteralNode(integers.parse(text))
        except ValueError:
            return LiteralNode(float(text))

    def _quoted(self, quote: str) -> Node:
        start = self.at
        self.at += 1
        while (char := self._peek()) not in ("", "\n"):
            self.at += 1
            if char == quote and self._text[self.at - 2] != "\\":
                return LiteralNode(_unquoted(self._text[start + 1 : self.at - 1], quote))
        raise JsonPathError("unterminated quoted string")

    def _array(self) -> Path:
        end = self._text.find("]", self.at)
        text = self._text[self.at + 1 : end]
        if end < 0 or "\n" in text:
            raise JsonPathError("unterminated array")
        self.at = end + 1
        if text == "*":
            text = ":"
        choices = text.split(",")
        if len(choices) > 1:
            return (UnionNode(tuple(_parse_action(f"[{choice.strip(' ')}]") for choice in choices)),)
        key = _DICT_KEY.fullmatch(text)
        if key:
            return _parse_action(f".{key[1]}")
        return (_slice(text),)

    def _filter(self) -> Node:
        self.at += 3
        start = self.at
        opened = closed = False
        quote = ""
        while True:
            char = self._peek()
            if char in ("", "\n"):
                raise JsonPathError("unterminated filter")
            self.at += 1
            if char in "\"'":
                if not opened:
                    opened, quote = True, char
                elif char == quote and self._text[self.at - 2] != "\\":
                    closed = True
            elif char == ")" and opened == closed:
                break
        if self._peek() != "]":
            raise JsonPathError("unclosed array expect ]")
        text = self._text[start : self.at - 1]
        self.at += 1
        comparison = _FILTER.fullmatch(text)
        if not comparison:
            return FilterNode(_parse_action(text), "exists", ())
        left, operator, right = comparison.groups()
        return FilterNode(_parse_action(left), operator, _parse_action(right))


def _slice(text: str) -> SliceNode:
    found = _SLICE.fullmatch(text)
    if not found:
        raise JsonPathError(f"invalid array index {text}")
    start, end, step = found.groups()
    first = _index(start) if start else None
    if end is None:
        return SliceNode(first, (first or 0) + 1, _index(step[1:]) if step and step[1:] else None, True)
    return SliceNode(
        first, _index(end[1:]) if end[1:] else None, _index(step[1:]) if step and step[1:] else None, False
    )


def _index(digits: str) -> int:
    try:
        return integers.parse(digits)
    except ValueError:
        raise JsonPathError(f"array index {digits} is not a number") from None


def _unquoted(text: str, quote: str) -> str:
    if "\\" not in text and quote not in text:
        return text
    result = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == quote:
            raise JsonPathError(f"unquote string {text} error invalid syntax")
        if char == "\\":
            char, at = _escaped(text, at, quote)
        result.append(char)
    return "".join(result)


def _escaped(text: str, at: int, quote: str) -> tuple[str, int]:
    """The character behind a backslash, and where the text goes on."""
    char = text[at : at + 1]
    if char in _ESCAPES:
        return _ESCAPES[char], at + 1
    if char and char == quote:
        return char, at + 1
    length = _HEX.get(char, 0)
    digits = text[at + 1 : at + 1 + length] if length else text[at : at + 3]
    base = 16 if length else 8
    allowed = "0123456789abcdefABCDEF" if length else "01234567"
    if len(digits) == (length or 3) and all(digit in allowed for digit in digits):
        code = int(digits, base)
        if code <= (0o377 if not length else 0x10FFFF) and not 0xD800 <= code < 0xE000:
            return chr(code), at + (1 + length if length else 3)
    raise JsonPathError(f"unquote string {text} error invalid syntax")
