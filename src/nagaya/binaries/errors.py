"""What can go wrong on the way to a program, in sentences that say what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NO_SPACE_HELP = "Free some space, or let XDG_CACHE_HOME name a folder that has some."


class BinariesError(Exception):
    """A program cannot be provided; the message is for the person who asked for it."""


class UnknownRequest(BinariesError, ValueError):
    """What was asked for is no program or no version."""


class SourceFailed(BinariesError):
    """One source cannot give a program; the next one is asked. The message is one line that says why."""


class ProvidedMismatch(BinariesError):
    """The user's own folder holds something else than what was asked for."""


class CacheUnusable(BinariesError):
    """The cache folder cannot be read or written: no other source would help."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A source that was asked and what it answered."""

    source: str
    reason: str


class BinariesUnavailable(BinariesError):
    """Every source was asked and none could give the programs."""

    def __init__(self, what: str, attempts: Sequence[Attempt], remedies: Sequence[str]) -> None:
        self.what = what
        self.attempts = tuple(attempts)
        self.remedies = tuple(remedies)
        lines = [f"{what} cannot be had:"]
        lines += [f"  - {attempt.source}: {attempt.reason}" for attempt in attempts]
        lines.append("Do one of these and try again:")
        lines += [f"  - {remedy}" for remedy in remedies]
        super().__init__("\n".join(lines))

    @classmethod
    def combine(cls, errors: Sequence[BinariesUnavailable]) -> BinariesUnavailable:
        """One error for several products: each reason and each remedy is listed once."""
        attempts = dict.fromkeys(attempt for error in errors for attempt in error.attempts)
        remedies = dict.fromkeys(remedy for error in errors for remedy in error.remedies)
        return cls("; ".join(error.what for error in errors), list(attempts), list(remedies))
