"""Names of many objects in one line, as Cluster API writes them in its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

MACHINES_SHOWN: Final = 3
"""How many machines a sentence names before it only counts them."""


def listed(names: Sequence[object], shown: int) -> str:
    """The first names with commas between them, and how many more there are."""
    rest = len(names) - shown
    return ", ".join([*map(str, names[:shown]), *([f"... ({rest} more)"] if rest > 0 else [])])


def machines_named(names: Iterable[str]) -> str:
    """Machines as the subject of a sentence, with its verb: `Machine a is`, `Machines a, b, c, ... (1 more) are`."""
    ordered = sorted(names)
    noun, verb = ("Machine", "is") if len(ordered) == 1 else ("Machines", "are")
    return f"{noun} {listed(ordered, MACHINES_SHOWN)} {verb}"
