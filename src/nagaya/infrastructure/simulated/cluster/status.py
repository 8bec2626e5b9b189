"""What a simulated cluster tells of itself, one function per condition."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.pause import NOT_PAUSED, PAUSED
from nagaya.api.meta import Condition
from nagaya.api.simulated.conditions import SimulatedCondition, SimulatedReason
from nagaya.api.simulated.simulated_cluster import SimulatedCluster, SimulatedClusterStatus, SimulatedInitialization
from nagaya.infrastructure.simulated.cluster.plan import Plan
from nagaya.kube.conditions import condition, set_condition
from nagaya.kube.status_change import News

CONDITIONS: Final = (SimulatedCondition.READY, SimulatedCondition.DELETING, SimulatedCondition.PAUSED)
FIELDS: Final = ("initialization.provisioned", "failureDomains", "observedGeneration")
NEWS: Final = News(
    ("initialization.provisioned", "failureDomains"), turns=("observedGeneration",), conditions=CONDITIONS
)
"""What others act on."""


def status(simulated: SimulatedCluster, plan: Plan, now: datetime) -> SimulatedClusterStatus:
    """The status for which a plan has been carried out."""
    provisioned = plan.provisioned or simulated.status.initialization.provisioned
    told = msgspec.structs.replace(
        simulated.status,
        initialization=SimulatedInitialization(provisioned=provisioned),
        failure_domains=simulated.spec.failure_domains if provisioned else (),
        observed_generation=simulated.metadata.generation or None,
    )
    return _set(simulated, told, now, ready(simulated, plan), deleting(simulated, plan), paused(""))


def paused_status(simulated: SimulatedCluster, why: str, now: datetime) -> SimulatedClusterStatus:
    """The status of a cluster that is left alone: as it was, and why nothing happens."""
    return _set(simulated, simulated.status, now, paused(why))


def ready(simulated: SimulatedCluster, plan: Plan) -> Condition:
    """Whether machines can be made."""
    if simulated.metadata.deleting:
        return condition(SimulatedCondition.READY, False, SimulatedReason.DELETING, plan.sentence)
    holds = plan.reason == SimulatedReason.PROVISIONED
    return condition(SimulatedCondition.READY, holds, plan.reason, plan.sentence)


def deleting(simulated: SimulatedCluster, plan: Plan) -> Condition:
    """Whether the cluster goes away."""
    if not simulated.metadata.deleting:
        return condition(SimulatedCondition.DELETING, False, SimulatedReason.NOT_DELETING)
    return condition(SimulatedCondition.DELETING, True, plan.reason, plan.sentence)


def paused(why: str) -> Condition:
    """Whether the cluster is left alone."""
    return condition(SimulatedCondition.PAUSED, bool(why), PAUSED if why else NOT_PAUSED, why)


def _set(
    simulated: SimulatedCluster, status: SimulatedClusterStatus, now: datetime, *wanted: Condition
) -> SimulatedClusterStatus:
    conditions = status.conditions
    for each in wanted:
        conditions = set_condition(conditions, each, now=now, generation=simulated.metadata.generation)
    return msgspec.structs.replace(status, conditions=conditions)
