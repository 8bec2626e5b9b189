"""Machines that have been on their way out for too long, and what seems to hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.clusters.names import machines_named
from nagaya.kube.conditions import get

LONG_DELETION: Final = timedelta(minutes=15)
"""How long a deletion may take before it is worth a word."""
LONG_DRAIN: Final = timedelta(minutes=5)
"""How long a drain may take before pods are named as the reason."""
_A_MOMENT: Final = timedelta(milliseconds=1)

HOLDING: Final = {
    "cannot evict pod as it would violate the pod's disruption budget.": "PodDisruptionBudgets",
    "deletionTimestamp set, but still not removed from the Node": "Pods not terminating",
    "failed to evict Pod": "Pod eviction errors",
    "waiting for completion": "Pods not completed yet",
}
"""What the condition Deleting of a machine says, and what that means in two words."""


@dataclass(frozen=True, slots=True)
class Stale:
    """What there is to say."""

    message: str
    changes: tuple[datetime, ...]
    """When there may be more to say, although nothing happens."""


def stale(machines: Iterable[Machine], now: datetime) -> Stale:
    """Look for machines that take long to go."""
    names: list[str] = []
    held: set[str] = set()
    changes: list[datetime] = []
    for machine in machines:
        since = machine.metadata.deletion_timestamp
        if since is None:
            continue
        # Strictly more than the limit: at the moment itself there is nothing to say yet.
        changes.append(since + LONG_DELETION + _A_MOMENT)
        drained_since = _draining_since(machine)
        if drained_since is not None:
            changes.append(drained_since + LONG_DRAIN + _A_MOMENT)
        if now - since <= LONG_DELETION:
            continue
        names.append(machine.metadata.name)
        if drained_since is not None and now - drained_since > LONG_DRAIN:
            told = get(machine.status.conditions, MachineCondition.DELETING)
            held.update(word for text, word in HOLDING.items() if told is not None and text in told.message)
    return Stale(_message(names, [word for word in HOLDING.values() if word in held]), tuple(changes))


def _draining_since(machine: Machine) -> datetime | None:
    told = get(machine.status.conditions, MachineCondition.DELETING)
    if told is None or told.status != "True" or told.reason != MachineReason.DRAINING_NODE:
        return None
    return machine.status.deletion.node_drain_start_time


def _message(names: Sequence[str], held_by: Sequence[str]) -> str:
    if not names:
        return ""
    why = f", delay likely due to {', '.join(held_by)}" if held_by else ""
    return f"{machines_named(names)} in deletion since more than 15m{why}"
