"""What a health check says of a machine, as its owners ask for it."""

from __future__ import annotations

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.kube.conditions import is_false


def unhealthy(machine: Machine) -> bool:
    """Whether a health check failed."""
    return is_false(machine.status.conditions, MachineCondition.HEALTH_CHECK_SUCCEEDED)


def to_be_remediated(machine: Machine) -> bool:
    """Whether a health check failed and it is for the owner of the machine to do something about it."""
    return unhealthy(machine) and is_false(machine.status.conditions, MachineCondition.OWNER_REMEDIATED)
