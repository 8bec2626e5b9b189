"""Label selectors: `app=web,tier in (a,b),!canary`.

A selector is parsed once and compiled into one function over a map of labels, since it is asked for every object and
every event. It has a canonical text form; equal texts select the same objects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.selectors.requirement import (
    EQUAL,
    UNEQUAL,
    Labels,
    Match,
    Operator,
    Requirement,
    SelectorError,
    check_length,
    checked,
    integer,
    key_errors,
)

_NO_LABELS: Final[Labels] = {}


class LabelSelector:
    """All of some requirements. Without requirements it selects everything."""

    __slots__ = ("_match", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda each: each.key))
        short = len(self.requirements) <= _SHORT
        self._match = _all([each.compiled() for each in self.requirements]) if short else _by_key(self.requirements)

    def matches(self, labels: Labels | None) -> bool:
        """Whether an object with these labels is selected."""
        return self._match(labels or _NO_LABELS)

    @property
    def selects_everything(self) -> bool:
        """Whether there is no requirement at all."""
        return not self.requirements

    def exact_match(self, key: str) -> str | None:
        """The one value that a label must have, if the selector demands one."""
        return next((requirement.exact for requirement in self.requirements if requirement.key == key), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


def _all(matches: list[Match]) -> Match:
    if not matches:
        return lambda labels: True
    if len(matches) == 1:
        return matches[0]
    if len(matches) == 2:
        first, second = matches
        return lambda labels: first(labels) and second(labels)
    return lambda labels: all(match(labels) for match in matches)


_SHORT: Final = 8


def _by_key(requirements: Iterable[Requirement]) -> Match:
    """As `_all`, but each label of an object is looked at once, however long the selector is."""
    needed: dict[str, frozenset[str] | None] = {}
    excluded: dict[str, set[str]] = {}
    forbidden: set[str] = set()
    numeric: dict[tuple[str, Operator], Requirement] = {}
    for each in requirements:
        key, operator, values = each
        if operator in UNEQUAL:
            excluded.setdefault(key, set()).update(values)
        elif operator is Operator.DOES_NOT_EXIST:
            forbidden.add(key)
        elif operator in EQUAL:
            known = needed.get(key)
            needed[key] = frozenset(values) if known is None else known.intersection(values)
        else:
            needed.setdefault(key, None)
            if operator is not Operator.EXISTS:
                tightest = max if operator is Operator.GREATER_THAN else min
                both = numeric.get((key, operator), each), each
                numeric[key, operator] = tightest(both, key=lambda one: integer(one.values[0]) or 0)
    bounds = [each.compiled() for each in numeric.values()]

    def match(labels: Labels) -> bool:
        met = 0
        for key, value in labels.items():
            if key in forbidden or value in excluded.get(key, ()):
                return False
            if key in needed:
                allowed = needed[key]
                if allowed is not None and value not in allowed:
                    return False
                met += 1
        return met == len(needed) and all(bound(labels) for bound in bounds)

    return match


class _Nothing(LabelSelector):
    """Selects no object, whatever its labels."""

    __slots__ = ()

    def matches(self, labels: Labels | None) -> bool:
        return False

    @property
    def selects_everything(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nothing)

    def __hash__(self) -> int:
        return 0


EVERYTHING: Final = LabelSelector()
NOTHING: Final[LabelSelector] = _Nothing()


def from_labels(labels: Mapping[str, str] | None) -> LabelSelector:
    """A selector for objects that have all of these labels."""
    return LabelSelector(Requirement(key, Operator.EQUALS, (value,)) for key, value in (labels or {}).items())


def parse(text: str) -> LabelSelector:
    """Read a selector. Raises SelectorError."""
    check_length(text)
    return _Parser(text).selector() if text else EVERYTHING


_END: Final = ""
_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>\0]+)\0?|\0|$)")
_SPECIAL: Final = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">"})
_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}


class _Parser:
    """Reads tokens from left to right. A word is any lexeme that is neither special nor the end."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def selector(self) -> LabelSelector:
        requirements: list[Requirement] = []
        while (lexeme := self._peek()) != _END:
            if not _is_word(lexeme) and lexeme != "!":
                raise SelectorError(f"found '{lexeme}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            lexeme = self._take()
            if lexeme == _END:
                break
            if lexeme != ",":
                raise SelectorError(f"found '{lexeme}', expected: ',' or 'end of string'")
            after = self._peek()
            if not _is_word(after) and after != "!":
                raise SelectorError(f"found '{after}', expected: identifier after ','")
        return LabelSelector(requirements)

    def _requirement(self) -> Requirement:
        key = self._take()
        negated = key == "!"
        if negated:
            key = self._take()
        if not _is_word(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        for error in key_errors(key, Path()):
            raise SelectorError(str(error))
        if negated:
            return checked(key, Operator.DOES_NOT_EXIST, ())
        if self._peek() in (_END, ","):
            return checked(key, Operator.EXISTS, ())
        lexeme = self._take()
        operator = _OPERATORS.get(lexeme)
        if operator is None:
            raise SelectorError(f"found '{lexeme}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if operator in (Operator.IN, Operator.NOT_IN) else self._value()
        return checked(key, operator, sorted(values))

    def _value(self) -> set[str]:
        if self._peek() in (_END, ","):
            return {""}
        lexeme = self._take()
        if not _is_word(lexeme):
            raise SelectorError(f"found '{lexeme}', expected: identifier")
        return {lexeme}

    def _values(self) -> set[str]:
        lexeme = self._take()
        if lexeme != "(":
            raise SelectorError(f"found '{lexeme}' expected: '('")
        first = self._peek()
        if first == ")":
            self._take()
            return {""}
        if not _is_word(first) and first != ",":
            raise SelectorError(f"found '{first}', expected: ',', ')' or identifier")
        values = self._listed()
        if self._take() != ")":
            raise SelectorError(f"found '{first}', expected: ')'")
        return values

    def _listed(self) -> set[str]:
        values: set[str] = set()
        while True:
            lexeme = self._take()
            after = self._tokens[self._at] if self._at < len(self._tokens) else _END
            if lexeme == ",":
                if not values:
                    values.add("")
                if after in (")", ","):
                    values.add("")
                if after == ")":
                    return values
            elif _is_word(lexeme):
                values.add(lexeme)
                if after == ")":
                    return values
                if after != ",":
                    raise SelectorError(f"found '{after}', expected: ',' or ')'")
            else:
                raise SelectorError(f"found '{lexeme}', expected: ',', or identifier")


def _tokens(text: str) -> list[str]:
    tokens = []
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        assert found is not None  # the pattern covers every character
        lexeme = found[1] or found[2] or _END
        tokens.append(lexeme)
        if lexeme == _END:
            return tokens
        at = found.end()


def _is_word(lexeme: str) -> bool:
    return lexeme != _END and lexeme not in _SPECIAL
