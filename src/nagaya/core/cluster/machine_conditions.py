"""What a Cluster tells of its machines: whether they are ready and up to date, whether workers are available, and
whether sick ones are being replaced."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_deployment_conditions import MachineDeploymentCondition
from nagaya.api.meta import Condition
from nagaya.clusters.machine_health import to_be_remediated, unhealthy
from nagaya.clusters.names import machines_named
from nagaya.clusters.up_to_date import judged, judgements
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import DefaultMerge, Source, aggregate, condition, reasons

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
    return _all_of(target, judged(machines, now), MachineCondition.UP_TO_DATE, _UP_TO_DATE)


def next_judgement(machines: Sequence[Machine], now: datetime) -> float | None:
    """In how many seconds the next machine counts although nothing has been said of it."""
    return min(((each - now).total_seconds() for each in judgements(machines) if each > now), default=None)


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
    sick = [each for each in seen.descendants.judged_machines if unhealthy(each)]
    replaced = [each for each in sick if to_be_remediated(each)]
    if replaced:
        sources = [Source.of(MACHINES, each) for each in replaced]
        message = aggregate(sources, MachineCondition.OWNER_REMEDIATED).message
        return condition(target, True, ClusterReason.REMEDIATING, message)
    names = [each.metadata.name for each in sick]
    message = f"{machines_named(names)} not healthy (not to be remediated)" if names else ""
    return condition(target, False, ClusterReason.NOT_REMEDIATING, message)


def _all_of(
    target: ClusterCondition, machines: Sequence[Machine], type: MachineCondition, strategy: DefaultMerge
) -> Condition:
    if not machines:
        return condition(target, True, ClusterReason.NO_REPLICAS)
    return aggregate([Source.of(MACHINES, each) for each in machines], type, target=target, strategy=strategy)
