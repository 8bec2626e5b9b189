"""What a check has found: how it stands, by what that is known, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Standing(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    """It works, and might not for long, or not everywhere."""
    PROBLEM = "problem"
    UNCHECKED = "not checked"
    """It could not be looked at; the evidence says why."""

    @property
    def rank(self) -> int:
        """Higher is worse."""
        return _RANKS[self]


_RANKS: Final = {Standing.OK: 0, Standing.UNCHECKED: 1, Standing.WARNING: 2, Standing.PROBLEM: 3}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    """Whose it is: the management API, a connection, a cluster."""
    check: str
    standing: Standing
    evidence: str
    remedy: tuple[str, ...] = ()
    """Commands, or sentences where no command says it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject, for those that have many things to say of it."""

    name: str

    def ok(self, check: str, evidence: str) -> Finding:
        """All is well."""
        return Finding(self.name, check, Standing.OK, evidence)

    def warning(self, check: str, evidence: str, *remedy: str) -> Finding:
        """It might not be well for long."""
        return Finding(self.name, check, Standing.WARNING, evidence, remedy)

    def problem(self, check: str, evidence: str, *remedy: str) -> Finding:
        """Something is wrong."""
        return Finding(self.name, check, Standing.PROBLEM, evidence, remedy)

    def unchecked(self, check: str, why: str, *remedy: str) -> Finding:
        """It could not be looked at."""
        return Finding(self.name, check, Standing.UNCHECKED, why, remedy)


def worst(findings: Iterable[Finding]) -> Standing:
    """How bad it is, all in all."""
    return max((each.standing for each in findings), key=lambda each: each.rank, default=Standing.OK)
