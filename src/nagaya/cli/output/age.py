"""How long ago something was, as kubectl writes it: two figures at most, the nearer the finer."""

from __future__ import annotations

from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY


def age(since: datetime | None, now: datetime) -> str:
    """Empty if the moment is not known."""
    return "" if since is None else duration((now - since).total_seconds())


def duration(length: float) -> str:
    """Seconds as people read them. A moment that other clocks put into the future is now."""
    seconds = int(length)
    if seconds < 0:
        return "0s" if seconds >= -1 else "<invalid>"
    minutes, hours, days = seconds // _MINUTE, seconds // _HOUR, seconds // _DAY
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % _MINUTE, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 8 * 24:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(seconds // _YEAR, "y", days % 365, "d")
    return f"{seconds // _YEAR}y"


def _two(large: int, unit: str, small: int, smaller: str) -> str:
    return f"{large}{unit}{small}{smaller}" if small else f"{large}{unit}"
