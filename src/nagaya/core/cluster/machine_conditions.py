"""What a Cluster tells of its machines: whether they are ready and up to date, whether workers are available, and
whether sick ones are being replaced."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_deployment_conditions import MachineDeploymentCondition
from nagaya.api.meta import Condition
from nagaya.core.cluster.names import listed
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import DefaultMerge, Source, aggregate, condition, get, is_false, reasons

UP_TO_DATE_GRACE: Final = timedelta(seconds=10)
"""How long after its creation a machine may say nothing of UpToDate, so that the condition does not flicker."""
NAMES_SHOWN: Final = 3

_READY: Final = DefaultMerge(
    reason=reasons(ClusterReason.NOT_READY, ClusterReason.READY_UNKNOWN, ClusterReason.READY),
)
_UP_TO_DATE: Final = DefaultMerge(
    reason=reasons(ClusterReason.NOT_UP_TO_DATE, ClusterReason.UP_TO_DATE_UNKNOWN, ClusterReason.UP_TO_DATE),
)
_AVAILABLE: Final = DefaultMerge(
    reason=reasons(ClusterReason.NOT_AVAILABLE, ClusterReason.AVAILABLE_UNKNOWN, ClusterReason.AVAILABLE),
)


def machines_ready(target: ClusterCondition, machines: Sequence[Machine]) -> Condition:
    """Whether all machines are ready."""
    return _all_of(target, machines, MachineCondition.READY, _READY)


def machines_up_to_date(target: ClusterCondition, machines: Sequence[Machine], now: datetime) -> Condition:
    """Whether all machines are as they are declared. New ones count once their owner has said something of it."""
    judged = [each for each in machines if _may_be_judged(each, now)]
    return _all_of(target, judged, MachineCondition.UP_TO_DATE, _UP_TO_DATE)


def next_judgement(machines: Sequence[Machine], now: datetime) -> float | None:
    """In how many seconds the next machine counts although nothing has been said of it."""
    waits = [
        (each.metadata.creation_timestamp + UP_TO_DATE_GRACE - now).total_seconds()
        for each in machines
        if each.metadata.creation_timestamp is not None and not _may_be_judged(each, now)
    ]
    return min(waits) if waits else None


def workers_available(seen: Seen) -> Condition:
    """Whether all deployments have enough machines."""
    target = ClusterCondition.WORKERS_AVAILABLE
    if not seen.descendants.deployments:
        return condition(target, True, ClusterReason.NO_WORKERS)
    sources = [Source.of(MACHINE_DEPLOYMENTS, each) for each in seen.descendants.deployments]
    return aggregate(sources, MachineDeploymentCondition.AVAILABLE, target=target, strategy=_AVAILABLE)


def remediating(seen: Seen) -> Condition:
    """Whether machines that failed a health check are being replaced."""
    target = ClusterCondition.REMEDIATING
    sick = [
        each for each in seen.descendants.judged_machines if _says_no(each, MachineCondition.HEALTH_CHECK_SUCCEEDED)
    ]
    replaced = [each for each in sick if _says_no(each, MachineCondition.OWNER_REMEDIATED)]
    if replaced:
        sources = [Source.of(MACHINES, each) for each in replaced]
        message = aggregate(sources, MachineCondition.OWNER_REMEDIATED).message
        return condition(target, True, ClusterReason.REMEDIATING, message)
    message = ""
    if sick:
        who, verb = ("Machine", "is") if len(sick) == 1 else ("Machines", "are")
        message = f"{who} {listed(sick, NAMES_SHOWN)} {verb} not healthy (not to be remediated)"
    return condition(target, False, ClusterReason.NOT_REMEDIATING, message)


def _all_of(
    target: ClusterCondition, machines: Sequence[Machine], type: MachineCondition, strategy: DefaultMerge
) -> Condition:
    if not machines:
        return condition(target, True, ClusterReason.NO_REPLICAS)
    return aggregate([Source.of(MACHINES, each) for each in machines], type, target=target, strategy=strategy)


def _may_be_judged(machine: Machine, now: datetime) -> bool:
    if get(machine.status.conditions, MachineCondition.UP_TO_DATE) is not None:
        return True
    created = machine.metadata.creation_timestamp
    return created is None or now - created > UP_TO_DATE_GRACE


def _says_no(machine: Machine, type: MachineCondition) -> bool:
    return is_false(machine.status.conditions, type)
