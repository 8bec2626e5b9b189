"""How far the deletion of a machine has come: what deletion tells the rest of the machine controller."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.cluster.machine_conditions import MachineReason
from nagaya.api.cluster.machine_status import MachineDeletionStatus, NodeReference


@dataclass(frozen=True, slots=True)
class DeletionOutcome:
    """The step that a deletion is at, and what it needs to go on."""

    reason: MachineReason
    """Of the condition Deleting, which is True."""
    message: str
    started: MachineDeletionStatus
    """When the steps began that have a time limit: all of status.deletion, those that were known included."""
    node_ref: NodeReference | None = None
    """The Node, if it was found only now."""
    completed: bool = False
    """Whether nothing is left of the machine: its finalizer goes, and nothing else is told."""
    requeue_after: float | None = None
    """In how many seconds to look again, where no event will tell."""
    problem: str = ""
    """What went wrong, for the log; the deletion is tried again soon."""
