"""What there is to say of a process at this moment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a process is in its life."""

    STARTING = "Starting"
    """A life is about to begin, or runs and has not said yet that it is ready."""
    READY = "Ready"
    """It runs, and its probe has answered, if it has one."""
    WAITING = "Waiting"
    """It ended, and is started again after a pause."""
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    UNCLAIMED = "Unclaimed"
    """An earlier supervisor began it, and nobody has asked for it yet."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One process."""

    name: str
    state: State
    pid: int | None
    restarts: int
    """How often it was started again by this supervisor."""
    digest: str
    """Of the spec that is wanted; empty if none is."""
    reason: str
    """Why it does not run, if it should."""
