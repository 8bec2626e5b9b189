"""What a MachineHealthCheck says of itself."""

from __future__ import annotations

from collections.abc import Iterable
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
from nagaya.core.machine_health_check.plan import Plan
from nagaya.core.machine_health_check.seen import Seen
from nagaya.kube.conditions import condition, set_condition

CONDITIONS: Final = (MachineHealthCheckCondition.REMEDIATION_ALLOWED, MachineHealthCheckCondition.PAUSED)
FIELDS: Final = ("expectedMachines", "currentHealthy", "remediationsAllowed", "observedGeneration", "targets")


def status(seen: Seen, plan: Plan, check: MachineHealthCheck, *, complete: bool) -> MachineHealthCheckStatus:
    """The status after a plan was carried out. A complete one, without a failure, stands for the generation."""
    before = check.status
    return msgspec.structs.replace(
        before,
        conditions=_with(check, (not_paused(), remediation_allowed(plan)), seen.now),
        expected_machines=len(plan.targets),
        current_healthy=plan.healthy,
        remediations_allowed=plan.allowance.remaining,
        targets=plan.targets,
        observed_generation=check.metadata.generation if complete else before.observed_generation,
    )


def status_while_blind(check: MachineHealthCheck, now: datetime) -> MachineHealthCheckStatus:
    """The status while the Nodes of the cluster cannot be seen: what was known before."""
    return msgspec.structs.replace(check.status, conditions=_with(check, (not_paused(),), now))


def status_while_paused(check: MachineHealthCheck, why: str, now: datetime) -> MachineHealthCheckStatus:
    """The status of a check that is left alone: what it was, and that it is paused."""
    paused = condition(MachineHealthCheckCondition.PAUSED, True, MachineHealthCheckReason.PAUSED, why)
    return msgspec.structs.replace(check.status, conditions=_with(check, (paused,), now))


def not_paused() -> Condition:
    """That the check is at work."""
    return condition(MachineHealthCheckCondition.PAUSED, False, MachineHealthCheckReason.NOT_PAUSED)


def remediation_allowed(plan: Plan) -> Condition:
    """Whether unhealthy machines are handed over."""
    type = MachineHealthCheckCondition.REMEDIATION_ALLOWED
    if plan.allowance.allowed:
        return condition(type, True, MachineHealthCheckReason.REMEDIATION_ALLOWED)
    return condition(type, False, MachineHealthCheckReason.TOO_MANY_UNHEALTHY, plan.allowance.message)


def _with(check: MachineHealthCheck, told: Iterable[Condition], now: datetime) -> tuple[Condition, ...]:
    conditions = check.status.conditions
    for each in told:
        conditions = set_condition(conditions, each, now=now, generation=check.metadata.generation)
    return conditions
