"""What Proxmox VE says of a task when it is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """How a task ended, or why that cannot be known."""

    outcome: str
    """Goes on the sentence "task X began and"."""
    failed: bool = False
    log: tuple[str, ...] = ()
