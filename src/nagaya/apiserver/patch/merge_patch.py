"""JSON Merge Patch (RFC 7386): maps are merged, null removes a member, anything else replaces what was there.

Neither input is changed; parts of both may be shared with the result.
"""

from __future__ import annotations

from typing import Any


def apply(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The document with the patch merged into it."""
    merged = document.copy()
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(current := merged.get(key), dict):
            # A list that replaces a map is the one place where nulls below it stay; so the real server does it.
            merged[key] = apply(current, value) if isinstance(value, dict) else value
        else:
            merged[key] = without_nulls(value)
    return merged


def without_nulls(value: Any) -> Any:
    """A value without the null members of its maps, at any depth. Null items of lists stay. Copies only changes."""
    if isinstance(value, dict):
        changed = False
        kept: dict[str, Any] = {}
        for key, member in value.items():
            if member is None:
                changed = True
                continue
            clean = without_nulls(member) if isinstance(member, (dict, list)) else member
            changed = changed or clean is not member
            kept[key] = clean
        return kept if changed else value
    if isinstance(value, list):
        items = [without_nulls(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
