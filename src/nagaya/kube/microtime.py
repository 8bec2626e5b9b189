"""Dates with microseconds, as Leases and Events have them: the API takes exactly six digits, even if all are zero."""

from __future__ import annotations

from datetime import UTC, datetime


def microtime(moment: datetime) -> str:
    """A date in the form `2026-11-01T12:00:00.000000Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
