"""One demand that a label selector makes of an object's labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from nagaya.apiserver.meta import integers, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import aggregate

Labels = Mapping[str, str]
Match = Callable[[Labels], bool]


class SelectorError(ValueError):
    """A selector that cannot be understood, in the API server's words."""


_LONGEST: Final = 256 * 1024


def check_length(text: str) -> None:
    """Raise SelectorError for a selector that is longer than anybody needs."""
    if len(text) > _LONGEST:
        raise SelectorError(f"the selector has {len(text)} characters; at most {_LONGEST} are read")


class Operator(StrEnum):
    """How a label is compared."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = "gt"
    LESS_THAN = "lt"


EQUAL: Final = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN})
UNEQUAL: Final = frozenset({Operator.NOT_EQUALS, Operator.NOT_IN})
_NUMERIC: Final = frozenset({Operator.GREATER_THAN, Operator.LESS_THAN})
_SYMBOLS: Final = {Operator.GREATER_THAN: ">", Operator.LESS_THAN: "<"}


class Requirement(NamedTuple):
    """A key, an operator, and the values it is compared with."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
            case _:
                return f"{self.key}{_SYMBOLS.get(self.operator, self.operator)}{','.join(sorted(self.values))}"

    @property
    def exact(self) -> str | None:
        """The one value that is demanded, if there is one."""
        return self.values[0] if self.operator in EQUAL and len(self.values) == 1 else None

    def compiled(self) -> Match:
        """A function that tells whether labels meet this requirement."""
        key, values = self.key, self.values
        if self.operator in EQUAL:
            if len(values) == 1:
                value = values[0]
                return lambda labels: labels.get(key) == value
            allowed = frozenset(values)
            return lambda labels: labels.get(key) in allowed
        if self.operator in UNEQUAL:
            if len(values) == 1:
                value = values[0]
                return lambda labels: labels.get(key) != value
            excluded = frozenset(values)
            return lambda labels: labels.get(key) not in excluded
        if self.operator is Operator.EXISTS:
            return lambda labels: key in labels
        if self.operator is Operator.DOES_NOT_EXIST:
            return lambda labels: key not in labels
        bound = integer(values[0])
        if bound is None:
            return lambda labels: False
        return _compared(key, bound, greater=self.operator is Operator.GREATER_THAN)


def _compared(key: str, bound: int, *, greater: bool) -> Match:
    def match(labels: Labels) -> bool:
        number = integer(labels.get(key, ""))
        if number is None:
            return False
        return number > bound if greater else number < bound

    return match


def integer(text: str) -> int | None:
    """A decimal number of 64 bits, or None."""
    try:
        return integers.parse(text)
    except ValueError:
        return None


def checked(key: str, operator: Operator, values: Sequence[str]) -> Requirement:
    """A requirement whose parts are valid. Raises SelectorError."""
    where = Path("values")
    errors: list[FieldError] = key_errors(key, Path("key"))
    given = list(values)
    if operator in (Operator.IN, Operator.NOT_IN):
        if not given:
            errors.append(invalid(where, given, "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        if given:
            errors.append(invalid(where, given, "values set must be empty for exists and does not exist"))
    elif operator in _NUMERIC:
        if len(given) != 1:
            errors.append(invalid(where, given, "for 'Gt', 'Lt' operators, exactly one value is required"))
        errors += [
            invalid(where.index(position), value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for position, value in enumerate(given)
            if integer(value) is None
        ]
    elif len(given) != 1:
        errors.append(invalid(where, given, "exact-match compatibility requires one single value"))
    for position, value in enumerate(given):
        if problems := names.label_value(value):
            errors.append(invalid(where.index(position).key(key), value, "; ".join(problems)))
    if errors:
        raise SelectorError(aggregate([str(error) for error in errors]))
    return Requirement(key, operator, tuple(given))


def key_errors(key: str, where: Path) -> list[FieldError]:
    """What is wrong with a label's key, as one finding."""
    problems = names.qualified_name(key)
    return [invalid(where, key, "; ".join(problems))] if problems else []
