"""A machine that comes or goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BY_HAND: Final = "the manifests"
"""Who makes a machine that a user declares alone."""


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a rollout that somebody would notice."""

    made: bool
    """Made; else deleted."""
    machine: str
    """Its name; of one that is yet to come, a name that says so."""
    owner: str
    """The title of whoever makes or deletes it."""
    version: str
    why: str
