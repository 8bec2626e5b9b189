"""A write that is refused as a whole, not because of a field."""

from __future__ import annotations


class Refusal(ValueError):
    """The message says why."""
