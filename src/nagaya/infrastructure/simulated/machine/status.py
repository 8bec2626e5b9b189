"""What a simulated machine tells of itself, one function per condition."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.pause import NOT_PAUSED, PAUSED
from nagaya.api.meta import Condition
from nagaya.api.simulated.conditions import SimulatedCondition, SimulatedReason
from nagaya.api.simulated.simulated_cluster import SimulatedInitialization
from nagaya.api.simulated.simulated_machine import SimulatedMachine, SimulatedMachineStatus
from nagaya.infrastructure.simulated.machine.node import addresses, failure_domain
from nagaya.infrastructure.simulated.machine.plan import Plan, Said
from nagaya.infrastructure.simulated.machine.seen import Seen
from nagaya.kube.conditions import condition, set_condition
from nagaya.kube.status_change import News

CONDITIONS: Final = tuple(SimulatedCondition)
FIELDS: Final = (
    "initialization.provisioned",
    "addresses",
    "failureDomain",
    "bootCompletionTime",
    "observedGeneration",
)
NEWS: Final = News(
    ("initialization.provisioned", "bootCompletionTime"), turns=("observedGeneration",), conditions=CONDITIONS
)
"""What others act on, and when the boot ends, which must survive this process."""


def status(seen: Seen, host: SimulatedMachine, plan: Plan) -> SimulatedMachineStatus:
    """The status for which a plan has been carried out."""
    before = host.status
    provisioned = plan.provisioned or before.initialization.provisioned
    told = msgspec.structs.replace(
        before,
        initialization=SimulatedInitialization(provisioned=provisioned),
        addresses=addresses(seen) if provisioned else (),
        failure_domain=failure_domain(seen) if provisioned else "",
        boot_completion_time=before.boot_completion_time or plan.boot_completion,
        observed_generation=host.metadata.generation or None,
    )
    conditions = (
        _said(SimulatedCondition.READY, plan.ready),
        _said(SimulatedCondition.NODE_JOINED, plan.node),
        deleting(host, plan),
        paused(""),
    )
    return _set(host, told, seen.now, *conditions)


def paused_status(host: SimulatedMachine, why: str, now: datetime) -> SimulatedMachineStatus:
    """The status of a machine that is left alone: as it was, and why nothing happens."""
    return _set(host, host.status, now, paused(why))


def deleting(host: SimulatedMachine, plan: Plan) -> Condition:
    """Whether the machine goes away."""
    if not host.metadata.deleting:
        return condition(SimulatedCondition.DELETING, False, SimulatedReason.NOT_DELETING)
    return condition(SimulatedCondition.DELETING, True, plan.ready.reason, plan.ready.message)


def paused(why: str) -> Condition:
    """Whether the machine is left alone."""
    return condition(SimulatedCondition.PAUSED, bool(why), PAUSED if why else NOT_PAUSED, why)


def _said(type: SimulatedCondition, said: Said) -> Condition:
    return condition(type, said.holds, said.reason, said.message)


def _set(
    host: SimulatedMachine, status: SimulatedMachineStatus, now: datetime, *wanted: Condition
) -> SimulatedMachineStatus:
    conditions = status.conditions
    for each in wanted:
        conditions = set_condition(conditions, each, now=now, generation=host.metadata.generation)
    return msgspec.structs.replace(status, conditions=conditions)
