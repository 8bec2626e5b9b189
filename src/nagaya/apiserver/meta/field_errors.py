"""What is wrong with one field of an object, in the words Kubernetes uses for it.

Validation collects `FieldError`s; `status.invalid` turns a list of them into the answer a client sees. The texts are
part of the protocol in practice: people search for them, and tests compare them with the real server's.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from nagaya.apiserver.meta import gostring, govalue


class Cause(StrEnum):
    """The machine-readable kind of a field error, as it stands in `status.details.causes[].reason`."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_SHORT = "FieldValueTooShort"
    TOO_MANY = "FieldValueTooMany"
    TOO_FEW = "FieldValueTooFew"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_TITLES: Final = {
    Cause.NOT_FOUND: "Not found",
    Cause.REQUIRED: "Required value",
    Cause.DUPLICATE: "Duplicate value",
    Cause.INVALID: "Invalid value",
    Cause.NOT_SUPPORTED: "Unsupported value",
    Cause.FORBIDDEN: "Forbidden",
    Cause.TOO_LONG: "Too long",
    Cause.TOO_SHORT: "Too short",
    Cause.TOO_MANY: "Too many",
    Cause.TOO_FEW: "Too few",
    Cause.TYPE_INVALID: "Invalid value",
    Cause.INTERNAL: "Internal error",
}

# These never show the offending value: it is missing, secret or too long.
_VALUELESS: Final = {Cause.REQUIRED, Cause.FORBIDDEN, Cause.TOO_LONG, Cause.TOO_SHORT, Cause.INTERNAL}


class _Omitted:
    """Stands for a value that the message leaves out."""


OMITTED: Final = _Omitted()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One finding: where, what kind, which value, and what would be right."""

    cause: Cause
    field: str
    value: Any = OMITTED
    detail: str = ""

    @property
    def body(self) -> str:
        """The message without the field's name."""
        text = _TITLES[self.cause]
        if self.cause not in _VALUELESS and self.value is not OMITTED:
            text += f": {_render(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def _render(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return gostring.quote(value)
    if isinstance(value, (int, float)):
        return gostring.number(value)
    return govalue.compact_json(value)


class Path:
    """A place in an object, printed as `spec.rules[0].labels[app]`. Immutable and cheap to extend."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def child(self, *names: str) -> Path:
        """The place of a named field below this one."""
        text = self._text
        for name in names:
            text = f"{text}.{name}" if text else name
        return Path(text)

    def index(self, position: int) -> Path:
        """The place of a list item."""
        return Path(f"{self._text}[{position}]")

    def key(self, key: str) -> Path:
        """The place of a map entry."""
        return Path(f"{self._text}[{key}]")

    def __str__(self) -> str:
        # A path without a single element is printed the way Go prints a missing one.
        return self._text or "<nil>"


Where = Path | str
T = TypeVar("T", bound=Hashable)


def repeated(values: Iterable[T]) -> Iterator[tuple[int, T]]:
    """The values that stood earlier already, with their positions."""
    seen: set[T] = set()
    for position, value in enumerate(values):
        if value in seen:
            yield position, value
        seen.add(value)


def required(where: Where, detail: str = "") -> FieldError:
    """A value has to be given."""
    return FieldError(Cause.REQUIRED, str(where), "", detail)


def invalid(where: Where, value: Any, detail: str) -> FieldError:
    """The value is malformed or out of bounds."""
    return FieldError(Cause.INVALID, str(where), value, detail)


def type_invalid(where: Where, value: Any, detail: str) -> FieldError:
    """The value is of another type than the schema says."""
    return FieldError(Cause.TYPE_INVALID, str(where), value, detail)


def not_supported(where: Where, value: Any, supported: Iterable[str]) -> FieldError:
    """The value is not among the ones that exist."""
    values = ", ".join(gostring.quote(each) for each in supported)
    return FieldError(Cause.NOT_SUPPORTED, str(where), value, f"supported values: {values}" if values else "")


def forbidden(where: Where, detail: str) -> FieldError:
    """The value would be well-formed but may not be given here."""
    return FieldError(Cause.FORBIDDEN, str(where), "", detail)


def duplicate(where: Where, value: Any) -> FieldError:
    """The value has to be unique and is not."""
    return FieldError(Cause.DUPLICATE, str(where), value)


def not_found(where: Where, value: Any) -> FieldError:
    """The value refers to something that does not exist."""
    return FieldError(Cause.NOT_FOUND, str(where), value)


def too_long(where: Where, maximum: int) -> FieldError:
    """The text has too many bytes."""
    detail = (
        f"may not be more than {maximum} {'byte' if maximum == 1 else 'bytes'}" if maximum >= 0 else "value is too long"
    )
    return FieldError(Cause.TOO_LONG, str(where), OMITTED, detail)


def too_many(where: Where, actual: int, maximum: int) -> FieldError:
    """The list has too many items."""
    value = actual if actual >= 0 else OMITTED
    unit = "item" if maximum == 1 else "items"
    detail = f"must have at most {maximum} {unit}" if maximum >= 0 else "has too many items"
    return FieldError(Cause.TOO_MANY, str(where), value, detail)


def too_few(where: Where, actual: int, minimum: int) -> FieldError:
    """The list has too few items."""
    value = actual if actual >= 0 else OMITTED
    unit = "item" if minimum == 1 else "items"
    detail = f"must have at least {minimum} {unit}" if minimum >= 0 else "has too few items"
    return FieldError(Cause.TOO_FEW, str(where), value, detail)


def internal(where: Where, problem: str) -> FieldError:
    """Validation itself failed."""
    return FieldError(Cause.INTERNAL, str(where), OMITTED, problem)
