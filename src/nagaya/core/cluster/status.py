"""What a Cluster tells of itself: phase, numbers, and one function per condition."""

from __future__ import annotations

from typing import Final

import msgspec

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.cluster_status import ClusterStatus
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.pause import NOT_PAUSED
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
from nagaya.kube.conditions import condition, set_condition
from nagaya.kube.status_change import News

OWNED_CONDITIONS: Final = frozenset(ClusterCondition) - {ClusterCondition.TOPOLOGY_RECONCILED}
_ACTED_ON: Final = frozenset(
    {
        ClusterCondition.AVAILABLE,
        ClusterCondition.INFRASTRUCTURE_READY,
        ClusterCondition.CONTROL_PLANE_INITIALIZED,
        ClusterCondition.CONTROL_PLANE_AVAILABLE,
        ClusterCondition.WORKERS_AVAILABLE,
        ClusterCondition.DELETING,
        ClusterCondition.PAUSED,
    }
)
"""The conditions that others wait for. The rest are views of machines that change with each of them."""
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
NEWS: Final = News(
    ("initialization.infrastructureProvisioned", "initialization.controlPlaneInitialized", "failureDomains"),
    turns=("phase", "observedGeneration"),
    conditions=_ACTED_ON,
)
"""What others act on, and not only other numbers, messages and views of the machines."""


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
    generation = cluster.metadata.generation
    conditions = with_conditions(
        cluster.status.conditions, _conditions(seen, plan), now=seen.now, generation=generation
    )
    conditions = set_condition(conditions, available(cluster, conditions), now=seen.now, generation=generation)
    return msgspec.structs.replace(told, conditions=conditions)


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


def _conditions(seen: Seen, plan: Plan) -> tuple[Condition | None, ...]:
    kin = seen.descendants
    return (
        NOT_PAUSED,
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
