"""What is wrong with one field of an object, as Kubernetes says it: `spec.version: Invalid value: "x": must be ...`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.admission.golang import marshal, quote

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"

_TITLES: Final = {
    INVALID: "Invalid value",
    REQUIRED: "Required value",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One finding: what kind it is, where, which value, and what would be right."""

    reason: str
    field: str
    detail: str
    value: Any = None

    @property
    def body(self) -> str:
        """The message without the name of the field."""
        title = _TITLES[self.reason]
        if self.reason == INVALID:
            title = f"{title}: {quote(self.value) if isinstance(self.value, str) else marshal(self.value)}"
        return f"{title}: {self.detail}" if self.detail else title

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value is not one that the field can have."""
    return FieldError(INVALID, field, detail, value)


def required(field: str, detail: str) -> FieldError:
    """The field must have a value."""
    return FieldError(REQUIRED, field, detail)


def forbidden(field: str, detail: str) -> FieldError:
    """The field must not have a value, or not be changed."""
    return FieldError(FORBIDDEN, field, detail)


def too_long(field: str, maximum: int) -> FieldError:
    """The value takes more bytes than it may."""
    return FieldError(TOO_LONG, field, f"may not be more than {maximum} bytes")


def aggregate(errors: Sequence[FieldError]) -> str:
    """All findings in one text, each of them once."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
