"""Time limits of the steps of a deletion. Without one, or with 0, a step takes as long as it takes."""

from __future__ import annotations

from datetime import datetime


def left(begun: datetime | None, limit: int | None, now: datetime) -> float | None:
    """How many seconds are left of a limit, none or fewer if it is exceeded; None if there is no limit."""
    if begun is None or not limit or limit < 0:
        return None
    return limit - (now - begun).total_seconds()


def exceeded(begun: datetime | None, limit: int | None, now: datetime) -> bool:
    """Whether a step has taken longer than it may."""
    rest = left(begun, limit, now)
    return rest is not None and rest <= 0


def soonest(wait: float, rest: float | None) -> float:
    """When to look again: after a while, but not later than when a limit ends."""
    return wait if rest is None else max(min(wait, rest), 0.0)
