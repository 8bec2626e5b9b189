"""One Ignition config behind another, as Ignition itself appends configs: lists follow each other, and where both
name the same thing, such as a file, the later one wins on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both configs in one."""
    found = dict(first)
    for name, value in second.items():
        known = found.get(name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            found[name] = merged(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            found[name] = known + value
        else:
            found[name] = value
    return found
