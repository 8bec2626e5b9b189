"""Field selectors: `metadata.name=a,status.phase!=Running`.

Which fields can be selected differs between kinds; the kind's rules are applied through `transformed`. A field that an
object does not have counts as an empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from nagaya.apiserver.selectors.requirement import SelectorError, check_length

Fields = Mapping[str, str]


class FieldRequirement(NamedTuple):
    """A field that must have a value, or must not have it."""

    field: str
    equal: bool
    value: str

    @property
    def operator(self) -> str:
        """The operator as it is written."""
        return "=" if self.equal else "!="

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape(self.value)}"


class FieldSelector:
    """All of some requirements. Without requirements it selects everything."""

    __slots__ = ("_equal", "_is_contradictory", "_unequal", "requirements")

    def __init__(self, requirements: tuple[FieldRequirement, ...] = ()) -> None:
        self.requirements = requirements
        self._equal: dict[str, str] = {}
        self._unequal: dict[str, set[str]] = {}
        self._is_contradictory = False
        for field, equal, value in requirements:
            if not equal:
                self._unequal.setdefault(field, set()).add(value)
            elif self._equal.setdefault(field, value) != value:
                self._is_contradictory = True

    def matches(self, fields: Fields) -> bool:
        """Whether an object with these fields is selected."""
        for field, value in self._equal.items():
            if fields.get(field, "") != value:
                return False
        if self._is_contradictory:
            return False
        return all(fields.get(field, "") not in values for field, values in self._unequal.items())

    @property
    def selects_everything(self) -> bool:
        """Whether there is no requirement at all."""
        return not self.requirements

    def exact_match(self, field: str) -> str | None:
        """The value that a field must have, if the selector demands one."""
        return self._equal.get(field)

    def transformed(self, transform: Callable[[str, str], tuple[str, str]]) -> FieldSelector:
        """The selector with each field and value passed through a function, which may raise.

        Where the function gives two empty texts the requirement is dropped.
        """
        changed = ((transform(each.field, each.value), each) for each in self.requirements)
        return FieldSelector(
            tuple(FieldRequirement(field, each.equal, value) for (field, value), each in changed if field or value)
        )

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


EVERYTHING: Final = FieldSelector()


def parse(text: str) -> FieldSelector:
    """Read a selector. Raises SelectorError."""
    if not text:
        return EVERYTHING
    check_length(text)
    requirements = (_requirement(term, text) for term in sorted(_terms(text)) if term)
    return FieldSelector(tuple(each for each in requirements if each.field or each.value))


def exact_match(text: str, field: str) -> str | None:
    """The value that a selector demands of a field, or None if it demands none or cannot be read."""
    if not text:
        return None
    try:
        return parse(text).exact_match(field)
    except SelectorError:
        return None


def escape(value: str) -> str:
    """A value as it has to be written in a selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _terms(text: str) -> list[str]:
    """The text cut at commas that are not escaped."""
    if "\\" not in text:
        return text.split(",")
    terms, start, escaped = [], 0, False
    for position, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            terms.append(text[start:position])
            start = position + 1
    terms.append(text[start:])
    return terms


def _requirement(term: str, text: str) -> FieldRequirement:
    for position, char in enumerate(term):
        if char == "=":
            skip = 2 if term.startswith("==", position) else 1
            return FieldRequirement(term[:position], True, _unescape(term[position + skip :]))
        if term.startswith("!=", position):
            return FieldRequirement(term[:position], False, _unescape(term[position + 2 :]))
    raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")


def _unescape(value: str) -> str:
    if not any(char in value for char in "\\,="):
        return value
    result, escaped = [], False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            result.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            result.append(char)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(result)
