"""Ages as `kubectl get` shows them: two or three significant figures, `5m10s`, `3h12m`, `5d`.

The time that is taken for now always comes from the caller.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"

_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)

# Go's duration is 63 bits of nanoseconds and saturates: nothing is older than 292 years.
_LONGEST: Final = (2**63 - 1) / 1e9


def parse_timestamp(text: str) -> datetime | None:
    """Read an RFC 3339 date, or None if it is not one."""
    if not _TIMESTAMP.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.replace(",", ".").upper())
    except ValueError:
        return None


def since(timestamp: Any, now: datetime) -> str:
    """The age of something that carries this timestamp, `<unknown>` when it carries none."""
    if not timestamp or not isinstance(timestamp, str):
        return UNKNOWN
    moment = parse_timestamp(timestamp)
    if moment is None:
        return INVALID
    return UNKNOWN if is_zero(moment) else human(seconds_between(moment, now))


def is_zero(moment: datetime) -> bool:
    """Whether this is the date that Go takes for "no date"."""
    return moment == _ZERO


def seconds_between(start: datetime, end: datetime) -> float:
    """The seconds from one moment to another."""
    return (end - start).total_seconds()


def human(seconds: float) -> str:
    """A duration with two or three significant figures. A clock that is off by up to two seconds counts as now."""
    total = int(min(seconds, _LONGEST))
    if total < 120:
        return INVALID if total < -1 else f"{max(total, 0)}s"
    minutes, second = divmod(total, 60)
    if minutes < 10:
        return f"{minutes}m{second}s" if second else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours, minute = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{minute}m" if minute else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, hour = divmod(hours, 24)
    if days < 8:
        return f"{days}d{hour}h" if hour else f"{days}d"
    if days < 730:
        return f"{days}d"
    years, day = divmod(days, 365)
    if years < 8:
        return f"{years}y{day}d" if day else f"{years}y"
    return f"{years}y"
