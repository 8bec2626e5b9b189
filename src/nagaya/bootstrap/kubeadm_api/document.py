"""How values look in kubeadm's documents: those of Go's JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Document = dict[str, Any]


class Part(dict[str, Any]):
    """A part of a document that is there even if it is empty."""


def given(**fields: Any) -> Document:
    """The fields that say something, by the names that the document has: no empty texts and lists, no zeros, nothing
    that is false. Parts are kept in any case."""
    return {name: value for name, value in fields.items() if value or isinstance(value, Part)}


def duration(seconds: int | None) -> str:
    """Seconds as Go writes a duration: 4m0s. Empty for None, which means that it is left out."""
    if seconds is None:
        return ""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def days(count: int) -> str:
    """Days as Go writes a duration. Empty for 0, which means that it is left out."""
    return f"{24 * count}h0m0s" if count else ""


def moment(at: datetime) -> str:
    """A moment, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
