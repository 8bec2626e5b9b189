"""Dates of a deletion, in whole seconds and UTC, as the API keeps and messages show them."""

from __future__ import annotations

from datetime import UTC, datetime


def date(moment: datetime) -> str:
    """A moment as in `2026-11-01T12:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
