"""A clock that only tests move."""

from __future__ import annotations

from datetime import UTC, datetime


class StandingClock:
    """Says the same date and moment until it is told otherwise."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        return datetime(2026, 11, 1, 12, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds
