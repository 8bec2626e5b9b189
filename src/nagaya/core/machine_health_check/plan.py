"""What to do about the machines of a health check: tell each what was found, and have the sick ones replaced.

Telling is always allowed; replacing only within the limit of the check. A machine is handed over once: while its owner,
or whoever fulfils a remediation request, is at work, their words about it are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.core.machine_health_check.external import External, request_for
from nagaya.core.machine_health_check.limit import Allowance, allowance
from nagaya.core.machine_health_check.seen import Seen
from nagaya.core.machine_health_check.verdict import judge
from nagaya.kube.conditions import condition, get
from nagaya.kube.key import Key

_NEVER_ASKED: Final = (
    MachineReason.REMEDIATION_TEMPLATE_NOT_FOUND,
    MachineReason.REMEDIATION_REQUEST_CREATION_FAILED,
)


@dataclass(frozen=True, slots=True)
class Step:
    """What is told on a machine, and what is done for it before."""

    machine: Machine
    health: Condition
    why: str
    remedy: Condition | None = None
    """OwnerRemediated or ExternallyRemediated, if it is the check's turn to say something there."""
    request: Untyped | None = None
    """A remediation request to make first."""
    obsolete: Untyped | None = None
    """A remediation request to delete first."""
    announced: bool = False
    """Whether an event tells of it, if it is news."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and what was counted."""

    targets: tuple[str, ...]
    healthy: int
    unhealthy: int
    allowance: Allowance
    steps: tuple[Step, ...]
    again_after: timedelta | None
    """When the passing of time alone may change the plan."""


def plan(seen: Seen) -> Plan:
    """Judge all machines, then decide what may be done. Raises InvalidTrigger."""
    spec = seen.check.spec
    judged = [
        (each.machine, judge(spec.checks, seen.cluster, each.machine, each.node, each.node_deleted, seen.now))
        for each in seen.targets
    ]
    healthy = sum(verdict.healthy for _, verdict in judged)
    unhealthy = sum(verdict.unhealthy for _, verdict in judged)
    limit = allowance(spec.remediation.trigger_if, len(judged), healthy, unhealthy)
    steps = tuple(
        _step(seen, machine, verdict.told, limit.allowed) for machine, verdict in judged if verdict.told is not None
    )
    waits = [verdict.again_after for _, verdict in judged if verdict.again_after is not None]
    names = tuple(sorted(machine.metadata.name for machine, _ in judged))
    return Plan(names, healthy, unhealthy, limit, steps, min(waits, default=None))


def _step(seen: Seen, machine: Machine, health: Condition, allowed: bool) -> Step:
    name = machine.metadata.name
    if health.status == "True":
        obsolete = _obsolete(seen.external, machine) if allowed else None
        return Step(machine, health, f"Machine {name} is healthy.", obsolete=obsolete)
    if not allowed:
        return Step(machine, health, f"Machine {name} is unhealthy, but remediation is not allowed.")
    if seen.external is not None:
        return _ask(seen, seen.external, machine, health)
    if machine.metadata.deleting:
        return Step(machine, health, f"Machine {name} is unhealthy and goes already.", announced=True)
    present = get(machine.status.conditions, MachineCondition.OWNER_REMEDIATED)
    if present is not None and present.status != "True":
        return Step(machine, health, f"Machine {name} is unhealthy, and its owner knows.", announced=True)
    remedy = condition(
        MachineCondition.OWNER_REMEDIATED, False, MachineReason.WAITING_FOR_REMEDIATION, "Waiting for remediation"
    )
    why = f"Machine {name} is unhealthy: its owner shall remediate it."
    return Step(machine, health, why, remedy, announced=True)


def _ask(seen: Seen, external: External, machine: Machine, health: Condition) -> Step:
    name = machine.metadata.name
    type = MachineCondition.EXTERNALLY_REMEDIATED
    waiting = condition(type, False, MachineReason.WAITING_FOR_REMEDIATION)
    if name in external.requests:
        present = get(machine.status.conditions, type)
        unsaid = present is None or present.reason in _NEVER_ASKED
        why = f"Machine {name} is unhealthy, and its remediation is requested."
        return Step(machine, health, why, waiting if unsaid else None, announced=True)
    if external.template is None or external.request_kind is None:
        reference = seen.check.spec.remediation.template_ref
        assert reference is not None
        message = (
            f"Error retrieving remediation template {reference.kind} "
            f"{Key(seen.check.metadata.namespace, reference.name)}"
        )
        why = f"Machine {name} is unhealthy, but there is no template to request its remediation from."
        missing = condition(type, False, MachineReason.REMEDIATION_TEMPLATE_NOT_FOUND, message)
        return Step(machine, health, why, missing, announced=True)
    request = request_for(external.template, machine)
    why = f"Machine {name} is unhealthy: its remediation is requested."
    return Step(machine, health, why, waiting, request=request, announced=True)


def _obsolete(external: External | None, machine: Machine) -> Untyped | None:
    request = None if external is None else external.requests.get(machine.metadata.name)
    return None if request is None or request.metadata.deleting else request
