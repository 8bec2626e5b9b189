"""Machines that a health check gave up: they are deleted, and the set makes new ones.

Not all at once, if the MachineDeployment limits how many may be on their way; not in a set that a rollout replaces
anyway; and only while new machines could be made. What becomes of each machine is told in its condition
OwnerRemediated, before it is deleted: afterwards it would be too late.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from nagaya.api.cluster.annotations import REMEDIATE_MACHINE
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.clusters.machine_health import to_be_remediated
from nagaya.core.machine_set.preflight import preflight
from nagaya.core.machine_set.seen import Seen
from nagaya.core.machine_set.steps import Delete, Remark, Step
from nagaya.kube.conditions import condition, get, is_false, is_true

ACTION = "Machine remediation"


def remediation(seen: Seen, checks: Collection[str]) -> Iterator[Step]:
    """What to do about unhealthy machines."""
    for machine in seen.machines:
        if not machine.metadata.deleting and _recovered(machine):
            yield Remark(machine, None, "The machine is healthy again.")
    sick = [each for each in seen.machines if to_be_remediated(each) and not each.metadata.deleting]
    if not sick:
        return
    if seen.of_deployment and not seen.current:
        message = "Machine won't be remediated because it is pending removal due to rollout"
        yield from _remarks(sick, MachineReason.CANNOT_BE_REMEDIATED, message)
        return
    allowed = _limit(seen.deployment) - sum(map(_under_way, seen.machines))
    now, later = _split(sorted(sick, key=_order), allowed)
    if later:
        assert seen.deployment is not None, "only a deployment limits remediations"
        limit = seen.deployment.spec.remediation.max_in_flight
        message = (
            "Waiting because there are already too many remediations in progress "
            f"(spec.strategy.remediation.maxInFlight is {limit})"
        )
        yield from _remarks(later, MachineReason.REMEDIATION_DEFERRED, message)
    if not now:
        return
    if problems := preflight(seen, ACTION, checks):
        yield from _remarks(now, MachineReason.REMEDIATION_DEFERRED, "\n".join(f"* {each}" for each in problems))
        return
    yield from _remarks(now, MachineReason.MACHINE_DELETING, "Machine is deleting")
    for machine in now:
        yield Delete(machine, f"Deleting Machine {machine.metadata.name} (remediating unhealthy Machine)")


def scaled(limit: int | str, total: int) -> int:
    """A number, or a share such as 20% of the total, rounded up. Raises ValueError."""
    if isinstance(limit, int):
        return limit
    number, sign, rest = limit.partition("%")
    if not sign or rest or not number.isdigit():
        raise ValueError(f'"{limit}" is neither a number nor a share such as 20%')
    return math.ceil(int(number) * total / 100)


def _recovered(machine: Machine) -> bool:
    conditions = machine.status.conditions
    return is_true(conditions, MachineCondition.HEALTH_CHECK_SUCCEEDED) and is_false(
        conditions, MachineCondition.OWNER_REMEDIATED
    )


def _limit(deployment: MachineDeployment | None) -> float:
    """How many may be on their way at a time."""
    limit = None if deployment is None else deployment.spec.remediation.max_in_flight
    if deployment is None or limit is None:
        return math.inf
    replicas = deployment.spec.replicas
    return scaled(limit, 1 if replicas is None else replicas)


def _under_way(machine: Machine) -> bool:
    found = get(machine.status.conditions, MachineCondition.OWNER_REMEDIATED)
    return (
        machine.metadata.deleting
        and found is not None
        and found.status == "False"
        and found.reason == MachineReason.MACHINE_DELETING
    )


def _order(machine: Machine) -> tuple[bool, float, str]:
    """Those that a user named, then the newest: they may not have come up, and so carry nothing yet."""
    created = machine.metadata.creation_timestamp
    newest = 0.0 if created is None else -created.timestamp()
    return (REMEDIATE_MACHINE not in machine.metadata.annotations, newest, machine.metadata.name)


def _split(machines: Sequence[Machine], allowed: float) -> tuple[Sequence[Machine], Sequence[Machine]]:
    if allowed >= len(machines):
        return machines, ()
    count = max(0, int(allowed))
    return machines[:count], machines[count:]


def _remarks(machines: Sequence[Machine], reason: str, message: str) -> Iterator[Remark]:
    for machine in machines:
        told = condition(MachineCondition.OWNER_REMEDIATED, False, reason, message)
        yield Remark(machine, told, message)
