"""What a check has found: where, how bad, why, and the lines that mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """An error is a deadlock that is certain from what is seen; a warning depends on what is not, or bites later."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Higher is worse."""
        return _RANKS[self]


_RANKS: Final = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one object."""

    check: str
    severity: Severity
    object: str
    """Kind, namespace and name."""
    source: str
    """The file, or the place in a running cluster, that the object is from."""
    path: str
    """The field that is to be changed, as `kubectl explain` would name it."""
    subject: str
    """Which taint, or which value of which field, it is about."""
    why: str
    fix: str
    """YAML lines to put at the path, or a command, or a sentence if neither says it."""
