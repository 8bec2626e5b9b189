"""What a MachineHealthCheck says of itself."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.machine_health_check import (
    MachineHealthCheck,
    MachineHealthCheckCondition,
    MachineHealthCheckReason,
    MachineHealthCheckStatus,
)
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.core.machine_health_check.plan import Plan
from nagaya.core.machine_health_check.seen import Seen
from nagaya.kube.conditions import condition

CONDITIONS: Final = (MachineHealthCheckCondition.REMEDIATION_ALLOWED, MachineHealthCheckCondition.PAUSED)
FIELDS: Final = ("expectedMachines", "currentHealthy", "remediationsAllowed", "observedGeneration", "targets")


def status(seen: Seen, plan: Plan, check: MachineHealthCheck, *, complete: bool) -> MachineHealthCheckStatus:
    """The status after a plan was carried out. A complete one, without a failure, stands for the generation."""
    before = check.status
    told = (NOT_PAUSED, remediation_allowed(plan))
    generation = check.metadata.generation
    return msgspec.structs.replace(
        before,
        conditions=with_conditions(before.conditions, told, now=seen.now, generation=generation),
        expected_machines=len(plan.targets),
        current_healthy=plan.healthy,
        remediations_allowed=plan.allowance.remaining,
        targets=plan.targets,
        observed_generation=generation if complete else before.observed_generation,
    )


def status_while_blind(check: MachineHealthCheck, now: datetime) -> MachineHealthCheckStatus:
    """The status while the Nodes of the cluster cannot be seen: what was known before."""
    before = check.status
    conditions = with_conditions(before.conditions, (NOT_PAUSED,), now=now, generation=check.metadata.generation)
    return msgspec.structs.replace(before, conditions=conditions)


def remediation_allowed(plan: Plan) -> Condition:
    """Whether unhealthy machines are handed over."""
    type = MachineHealthCheckCondition.REMEDIATION_ALLOWED
    if plan.allowance.allowed:
        return condition(type, True, MachineHealthCheckReason.REMEDIATION_ALLOWED)
    return condition(type, False, MachineHealthCheckReason.TOO_MANY_UNHEALTHY, plan.allowance.message)
