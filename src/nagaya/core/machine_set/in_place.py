"""Machines that are updated in place: they count for less until that is done."""

from __future__ import annotations

from nagaya.api.cluster.annotations import UPDATE_IN_PROGRESS
from nagaya.api.cluster.machine import Machine
from nagaya.api.runtime.extension_config import PENDING_HOOKS

UPDATE_MACHINE = "UpdateMachine"
"""The hook of an update in place."""


def updating_in_place(machine: Machine) -> bool:
    """Whether an update in place is about to begin, going on, or being finished."""
    annotations = machine.metadata.annotations
    return UPDATE_IN_PROGRESS in annotations or UPDATE_MACHINE in annotations.get(PENDING_HOOKS, "").split(",")
