"""What a MachineSet asks of its machines before it decides about them."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.api.cluster.annotations import UPDATE_IN_PROGRESS
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.runtime.extension_config import PENDING_HOOKS
from nagaya.kube.conditions import is_false

UPDATE_MACHINE = "UpdateMachine"
"""The hook of an update in place."""
SHOWN = 3
"""How many names a message lists before it only counts."""


def updating_in_place(machine: Machine) -> bool:
    """Whether an update in place is about to begin, going on, or being finished."""
    annotations = machine.metadata.annotations
    return UPDATE_IN_PROGRESS in annotations or UPDATE_MACHINE in annotations.get(PENDING_HOOKS, "").split(",")


def unhealthy(machine: Machine) -> bool:
    """Whether a health check failed."""
    return is_false(machine.status.conditions, MachineCondition.HEALTH_CHECK_SUCCEEDED)


def to_be_remediated(machine: Machine) -> bool:
    """Whether a health check failed and it is for the owner of the machine to do something about it."""
    return unhealthy(machine) and is_false(machine.status.conditions, MachineCondition.OWNER_REMEDIATED)


def named(names: Iterable[str]) -> str:
    """Machines as the subject of a sentence, with its verb: `Machine a is`, `Machines a, b, c, ... (1 more) are`."""
    ordered = sorted(names)
    listed = ordered[:SHOWN]
    if len(ordered) > SHOWN:
        listed.append(f"... ({len(ordered) - SHOWN} more)")
    noun, verb = ("Machine", "is") if len(ordered) == 1 else ("Machines", "are")
    return f"{noun} {', '.join(listed)} {verb}"
