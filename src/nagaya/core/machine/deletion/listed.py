"""Names in a sentence: the first few, and how many there are besides."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[object], limit: int) -> str:
    """Names with commas between them, cut short after `limit`."""
    shown = [str(each) for each in names[:limit]]
    if len(names) > limit:
        shown.append(f"... ({len(names) - limit} more)")
    return ", ".join(shown)
