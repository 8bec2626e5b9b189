"""What a Cluster tells of itself: phase, numbers, and one function per condition."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.cluster_status import ClusterStatus
from nagaya.api.meta import Condition
from nagaya.core.cluster.available import available
from nagaya.core.cluster.connection_condition import probe_expires, remote_connection_probe
from nagaya.core.cluster.counts import control_plane_counts, worker_counts
from nagaya.core.cluster.machine_conditions import (
    machines_ready,
    machines_up_to_date,
    next_judgement,
    remediating,
    workers_available,
)
from nagaya.core.cluster.operation_conditions import rolling_out, scaling_down, scaling_up
from nagaya.core.cluster.plan import Plan
from nagaya.core.cluster.provider_conditions import (
    control_plane_available,
    control_plane_initialized,
    infrastructure_ready,
)
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import Conditions, condition, set_condition

OWNED_CONDITIONS: Final = frozenset(ClusterCondition) - {ClusterCondition.TOPOLOGY_RECONCILED}
_COUNTS: Final = (
    "desiredReplicas",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "upToDateReplicas",
    "versions",
)
OWNED_FIELDS: Final = (
    "phase",
    "observedGeneration",
    "failureDomains",
    "initialization.infrastructureProvisioned",
    "initialization.controlPlaneInitialized",
    *(f"controlPlane.{name}" for name in _COUNTS),
    *(f"workers.{name}" for name in _COUNTS),
)


def status(seen: Seen, plan: Plan) -> ClusterStatus:
    """The status of a Cluster for which a plan has been carried out."""
    cluster = seen.cluster
    told = msgspec.structs.replace(
        cluster.status,
        initialization=plan.initialization,
        failure_domains=plan.failure_domains,
        phase=phase(cluster, plan),
        control_plane=control_plane_counts(seen),
        workers=worker_counts(seen),
        observed_generation=cluster.status.observed_generation if seen.problems else cluster.metadata.generation,
    )
    conditions = cluster.status.conditions
    for each in _conditions(seen, plan):
        if each is not None:
            conditions = _set(cluster, conditions, each, seen.now)
    conditions = _set(cluster, conditions, available(cluster, conditions), seen.now)
    return msgspec.structs.replace(told, conditions=conditions)


def paused_status(cluster: Cluster, why: str, now: datetime) -> ClusterStatus:
    """The status of a Cluster that is left alone: as it was, and why nothing happens."""
    conditions = _set(cluster, cluster.status.conditions, paused(why), now)
    return msgspec.structs.replace(cluster.status, conditions=conditions)


def paused(why: str) -> Condition:
    """Whether the Cluster is left alone."""
    if why:
        return condition(ClusterCondition.PAUSED, True, ClusterReason.PAUSED, why)
    return condition(ClusterCondition.PAUSED, False, ClusterReason.NOT_PAUSED)


def phase(cluster: Cluster, plan: Plan) -> str:
    """The state in one word."""
    if cluster.metadata.deleting:
        return "Deleting"
    if plan.initialization.infrastructure_provisioned and cluster.spec.control_plane_endpoint.valid:
        return "Provisioned"
    if cluster.spec.infrastructure_ref is not None or cluster.spec.control_plane_ref is not None:
        return "Provisioning"
    return cluster.status.phase or "Pending"


def deleting(plan: Plan) -> Condition:
    """How far the deletion is."""
    if plan.deletion is None:
        return condition(ClusterCondition.DELETING, False, ClusterReason.NOT_DELETING)
    return condition(ClusterCondition.DELETING, True, plan.deletion.reason, plan.deletion.message)


def next_look(seen: Seen) -> float | None:
    """In how many seconds time alone changes the status."""
    machines = (*seen.descendants.control_plane_machines, *seen.descendants.judged_workers)
    waits = [each for each in (probe_expires(seen), next_judgement(machines, seen.now)) if each is not None]
    return max(min(waits), 0.0) if waits else None


def differs_in_substance(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Whether there is news that others act on, and not only other numbers and messages."""
    return _substance(before) != _substance(after)


def _substance(status: ClusterStatus) -> tuple[object, ...]:
    conditions = {each.type: (each.status, each.reason) for each in status.conditions}
    return status.phase, status.initialization, status.failure_domains, status.observed_generation, conditions


def _conditions(seen: Seen, plan: Plan) -> tuple[Condition | None, ...]:
    kin = seen.descendants
    return (
        paused(""),
        remote_connection_probe(seen),
        infrastructure_ready(seen, plan),
        control_plane_available(seen, plan),
        control_plane_initialized(seen),
        workers_available(seen),
        machines_ready(ClusterCondition.CONTROL_PLANE_MACHINES_READY, kin.control_plane_machines),
        machines_ready(ClusterCondition.WORKER_MACHINES_READY, kin.judged_workers),
        machines_up_to_date(ClusterCondition.CONTROL_PLANE_MACHINES_UP_TO_DATE, kin.control_plane_machines, seen.now),
        machines_up_to_date(ClusterCondition.WORKER_MACHINES_UP_TO_DATE, kin.judged_workers, seen.now),
        rolling_out(seen),
        scaling_up(seen),
        scaling_down(seen),
        remediating(seen),
        deleting(plan),
    )


def _set(cluster: Cluster, conditions: Conditions, wanted: Condition, now: datetime) -> Conditions:
    return set_condition(conditions, wanted, now=now, generation=cluster.metadata.generation)
