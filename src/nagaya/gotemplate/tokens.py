"""Cuts a template into tokens: text outside of actions, and the words inside of them.

Trim markers and comments end here: the parser sees neither. Spaces inside actions are tokens, because they tell
`$x.y` from `$x .y`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from nagaya.gotemplate.errors import TemplateError

_LEFT: Final = "{{"
_RIGHT: Final = "}}"
_SPACES: Final = " \t\r\n"
_WORD: Final = re.compile(r"\w+")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
_RAW: Final = re.compile(r"`[^`]*`")
_CHARACTER: Final = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'")
_SCALAR: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?|0[oO][0-7_]*|0[bB][01_]*"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)


class Token(Enum):
    """What a token is."""

    TEXT = auto()
    OPEN = auto()
    CLOSE = auto()
    SPACE = auto()
    DECLARE = auto()
    ASSIGN = auto()
    PIPE = auto()
    COMMA = auto()
    OTHER = auto()
    OPEN_PARENTHESIS = auto()
    CLOSE_PARENTHESIS = auto()
    STRING = auto()
    CHARACTER = auto()
    NUMBER = auto()
    BOOLEAN = auto()
    IDENTIFIER = auto()
    KEYWORD = auto()
    NIL = auto()
    DOT = auto()
    FIELD = auto()
    VARIABLE = auto()
    END = auto()


_KEYWORDS: Final = frozenset({"block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"})
_SIGNS: Final = {"=": Token.ASSIGN, "|": Token.PIPE, ",": Token.COMMA}


@dataclass(frozen=True, slots=True)
class Item:
    """One token, where it begins, and in which line."""

    token: Token
    text: str
    position: int
    line: int

    def __str__(self) -> str:
        if self.token is Token.END:
            return "EOF"
        if self.token is Token.KEYWORD or self.token is Token.NIL or self.token is Token.DOT:
            return f"<{self.text}>"
        shown = self.text if len(self.text) <= 10 else f"{self.text[:10]}"
        quoted = '"' + shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        return quoted if len(self.text) <= 10 else f"{quoted}..."


class Lexer:
    """Cuts one template."""

    def __init__(self, name: str, source: str) -> None:
        self._name = name
        self._source = source
        self._line_ends = [found.start() for found in re.finditer("\n", source)]
        self._position = 0
        self._begun = 0  # line in which the current action began
        self._depth = 0

    def items(self) -> Iterator[Item]:
        """All tokens; the last one is END. Raises TemplateError."""
        source = self._source
        trim = False
        while True:
            start = self._position
            opening = source.find(_LEFT, start)
            text = source[start:] if opening < 0 else source[start:opening]
            if trim:
                kept = text.lstrip(_SPACES)
                start, text = start + len(text) - len(kept), kept
            if opening < 0:
                if text:
                    yield self._item(Token.TEXT, text, start)
                yield self._item(Token.END, "", len(source))
                return
            inside = opening + len(_LEFT)
            if _marked(source, inside, inside + 1):
                text, inside = text.rstrip(_SPACES), inside + 2
            if text:
                yield self._item(Token.TEXT, text, start)
            self._position = inside
            if source.startswith("/*", inside):
                trim = self._comment()
                continue
            self._begun = self._line(opening)
            yield self._item(Token.OPEN, _LEFT, opening)
            yield from self._action()
            trim = self._close()
            yield self._item(Token.CLOSE, _RIGHT, self._position - len(_RIGHT))

    def _comment(self) -> bool:
        found = _COMMENT.match(self._source, self._position)
        if found is None:
            raise self._problem("unclosed comment")
        self._position = found.end()
        if not self._at_close():
            raise self._problem("comment ends before closing delimiter")
        return self._close()

    def _at_close(self) -> bool:
        source, here = self._source, self._position
        return source.startswith(_RIGHT, here) or (
            _marked(source, here + 1, here) and source.startswith(_RIGHT, here + 2)
        )

    def _close(self) -> bool:
        """Step over the end of an action. Whether the text behind it is to be trimmed."""
        trim = not self._source.startswith(_RIGHT, self._position)
        self._position += len(_RIGHT) + (2 if trim else 0)
        return trim

    def _action(self) -> Iterator[Item]:
        self._depth = 0
        source = self._source
        while not self._at_close():
            start = self._position
            if start >= len(source):
                raise self._problem("unclosed action")
            if source[start] in _SPACES:
                while self._position < len(source) and source[self._position] in _SPACES and not self._at_close():
                    self._position += 1
                if self._position > start:
                    yield self._item(Token.SPACE, source[start : self._position], start)
                continue
            yield self._word(start)
        if self._depth:
            raise self._problem("unclosed left paren")

    def _word(self, start: int) -> Item:
        source = self._source
        first = source[start]
        if first in _SIGNS:
            return self._take(_SIGNS[first], start + 1)
        if first == ":":
            if not source.startswith(":=", start):
                raise self._problem("expected :=")
            return self._take(Token.DECLARE, start + 2)
        if first in "()":
            self._depth += 1 if first == "(" else -1
            if self._depth < 0:
                raise self._problem("unexpected right paren")
            return self._take(Token.OPEN_PARENTHESIS if first == "(" else Token.CLOSE_PARENTHESIS, start + 1)
        if first == '"':
            return self._quoted(_STRING, Token.STRING, "unterminated quoted string")
        if first == "`":
            return self._quoted(_RAW, Token.STRING, "unterminated raw quoted string")
        if first == "'":
            return self._quoted(_CHARACTER, Token.CHARACTER, "unterminated character constant")
        if first == "$":
            return self._name_after(start, Token.VARIABLE, Token.VARIABLE)
        following = source[start + 1 : start + 2]
        if first == "." and not ("0" <= following <= "9"):
            return self._name_after(start, Token.FIELD, Token.DOT)
        if first in ".+-" or "0" <= first <= "9":
            return self._number(start)
        found = _WORD.match(source, start)
        if found is not None:
            return self._identifier(start, found.end())
        if " " < first <= "~":
            return self._take(Token.OTHER, start + 1)
        raise self._problem(f"unrecognized character in action: {_unicode(first)}")

    def _take(self, token: Token, end: int) -> Item:
        start, self._position = self._position, end
        return self._item(token, self._source[start:end], start)

    def _quoted(self, pattern: re.Pattern[str], token: Token, problem: str) -> Item:
        found = pattern.match(self._source, self._position)
        if found is None:
            raise self._problem(problem)
        return self._take(token, found.end())

    def _name_after(self, start: int, token: Token, alone: Token) -> Item:
        found = _WORD.match(self._source, start + 1)
        end = start + 1 if found is None else found.end()
        self._check_end(end)
        return self._take(alone if found is None else token, end)

    def _identifier(self, start: int, end: int) -> Item:
        self._check_end(end)
        word = self._source[start:end]
        if word in _KEYWORDS:
            return self._take(Token.KEYWORD, end)
        if word == "nil":
            return self._take(Token.NIL, end)
        return self._take(Token.BOOLEAN if word in ("true", "false") else Token.IDENTIFIER, end)

    def _number(self, start: int) -> Item:
        found = _SCALAR.match(self._source, start)
        assert found is not None  # it may be empty
        end = found.end()
        if self._source[end : end + 1] in ("+", "-"):
            second = _SCALAR.match(self._source, end)
            assert second is not None
            end = second.end()
            if self._source[end - 1] != "i":
                raise self._problem(f'bad number syntax: "{self._source[start:end]}"')
        if _WORD.match(self._source, end):
            raise self._problem(f'bad number syntax: "{self._source[start : end + 1]}"')
        return self._take(Token.NUMBER, end)

    def _check_end(self, end: int) -> None:
        """A name must be followed by something that can follow one."""
        following = self._source[end : end + 1]
        if following and following not in f"{_SPACES}.,|:)(" and not self._source.startswith(_RIGHT, end):
            raise self._problem(f"bad character {_unicode(following)}")

    def _item(self, token: Token, text: str, position: int) -> Item:
        return Item(token, text, position, self._line(position))

    def _line(self, position: int) -> int:
        return bisect_left(self._line_ends, position) + 1

    def _problem(self, words: str) -> TemplateError:
        line = self._line(self._position)
        extra = ""
        if self._begun and self._begun != line:
            extra = f" in action started at {self._name}:{self._begun}"
            if words.endswith(" action"):
                extra = extra.removeprefix(" in action")
        return TemplateError(f"template: {self._name}:{line}: {words}{extra}")


def _marked(source: str, marker: int, space: int) -> bool:
    """Whether there is a trim marker with its space."""
    return source[marker : marker + 1] == "-" and source[space : space + 1] != "" and source[space] in _SPACES


def _unicode(character: str) -> str:
    shown = f" '{character}'" if character.isprintable() else ""
    return f"U+{ord(character):04X}{shown}"
