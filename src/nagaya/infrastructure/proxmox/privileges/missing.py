"""A privilege that is needed and not held, and how that is told: to people, and as the commands that grant it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """A privilege that is needed at a path and not held there."""

    path: str
    privilege: str
    """Where one of several is enough, the first of them."""
    operation: str
    """What cannot be done: see machines, clone machines, ..."""
    command: str
    """What grants it, run by root on any host."""


def named(missing: Iterable[Missing]) -> str:
    """All of them, as the end of `lacks ...`: each path with what is missing there, and what for."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in missing:
        groups.setdefault((each.path, each.operation), []).append(each.privilege)
    return "; ".join(
        f"{', '.join(privileges)} on {path}, to {operation}" for (path, operation), privileges in groups.items()
    )


def commands(missing: Iterable[Missing]) -> tuple[str, ...]:
    """What grants all of them, each line once."""
    return tuple(dict.fromkeys(each.command for each in missing))
