"""Is this machine healthy? Judged from its conditions, its Node, and how long either has been wrong.

A machine is healthy, unhealthy, or neither: one that may still turn unhealthy when time passes is not counted as
healthy, and nothing is told of it yet. Nobody is blamed for a cluster that is not there: before the infrastructure of
the cluster is ready no machine is judged, and before its control plane is initialized only those of the control plane.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.annotations import REMEDIATE_MACHINE
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.health import (
    DEFAULT_NODE_STARTUP_TIMEOUT_SECONDS,
    HealthChecks,
    UnhealthyMachineCondition,
    UnhealthyNodeCondition,
)
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.meta import Condition
from nagaya.clusters.node import Node, NodeCondition
from nagaya.kube.conditions import Conditions, condition, get, is_true

MARGIN: Final = timedelta(seconds=1)
"""How long after a limit the machine is looked at again: dates in objects are cut to seconds."""
_LONG_AGO: Final = timedelta.max


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of a machine now, and when that may change because time passes."""

    told: Condition | None = None
    """HealthCheckSucceeded, True or False; None if it is too early to tell."""
    again_after: timedelta | None = None

    @property
    def healthy(self) -> bool:
        """Whether the machine counts as healthy."""
        return self.told is not None and self.told.status == "True"

    @property
    def unhealthy(self) -> bool:
        """Whether the machine counts as unhealthy."""
        return self.told is not None and self.told.status == "False"


@dataclass(frozen=True, slots=True)
class _Finding:
    problems: tuple[str, ...] = ()
    again_after: timedelta | None = None
    reason: MachineReason = MachineReason.UNHEALTHY_NODE


def judge(
    checks: HealthChecks, cluster: Cluster, machine: Machine, node: Node | None, node_deleted: bool, now: datetime
) -> Verdict:
    """Whether a machine is healthy. `node_deleted`: it had a Node, and the tenant no longer knows it."""
    if REMEDIATE_MACHINE in machine.metadata.annotations:
        message = f"Health check failed: marked for remediation via {REMEDIATE_MACHINE} annotation"
        return Verdict(_failed(MachineReason.HAS_REMEDIATE_ANNOTATION, message))
    if not _may_be_blamed(cluster, machine):
        return _well(machine, node)
    of_machine = _of_conditions(checks.unhealthy_machine_conditions, machine.status.conditions, "Machine", now)
    of_node = _of_node(checks, cluster, machine, node, node_deleted, now)
    if problems := (*of_machine.problems, *of_node.problems):
        reason = MachineReason.UNHEALTHY_MACHINE if of_machine.problems else of_node.reason
        message = "Health check failed:\n" + "\n".join(f"  * {each}" for each in problems)
        return Verdict(_failed(reason, message))
    waits = [each for each in (of_machine.again_after, of_node.again_after) if each is not None]
    return Verdict(again_after=min(waits)) if waits else _well(machine, node)


def control_plane_initialized(cluster: Cluster) -> bool:
    """Whether the control plane of a cluster has ever answered."""
    return is_true(cluster.status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED)


def _may_be_blamed(cluster: Cluster, machine: Machine) -> bool:
    of_control_plane = labels.CONTROL_PLANE in machine.metadata.labels
    if not control_plane_initialized(cluster) and not of_control_plane:
        return False
    return is_true(cluster.status.conditions, ClusterCondition.INFRASTRUCTURE_READY)


def _well(machine: Machine, node: Node | None) -> Verdict:
    if machine.metadata.deleting or node is None:
        return Verdict()
    type = MachineCondition.HEALTH_CHECK_SUCCEEDED
    return Verdict(condition(type, True, MachineReason.HEALTH_CHECK_SUCCEEDED))


def _failed(reason: MachineReason, message: str) -> Condition:
    return condition(MachineCondition.HEALTH_CHECK_SUCCEEDED, False, reason, message)


def _of_node(
    checks: HealthChecks, cluster: Cluster, machine: Machine, node: Node | None, node_deleted: bool, now: datetime
) -> _Finding:
    if node_deleted:
        assert machine.status.node_ref is not None
        problem = f"Node {machine.status.node_ref.name} has been deleted"
        return _Finding((problem,), reason=MachineReason.NODE_DELETED)
    if node is None:
        return _of_startup(checks, cluster, machine, now)
    return _of_conditions(checks.unhealthy_node_conditions, node.status.conditions, "Node", now)


def _of_startup(checks: HealthChecks, cluster: Cluster, machine: Machine, now: datetime) -> _Finding:
    seconds = checks.node_startup_timeout_seconds
    limit = timedelta(seconds=DEFAULT_NODE_STARTUP_TIMEOUT_SECONDS if seconds is None else seconds)
    if not limit:
        return _Finding()
    passed = now - _could_start(cluster, machine, now)
    if passed > limit:
        problem = f"Node failed to report startup in {duration(limit)}"
        return _Finding((problem,), reason=MachineReason.NODE_STARTUP_TIMEOUT)
    return _Finding(again_after=limit - passed + MARGIN)


def _could_start(cluster: Cluster, machine: Machine, now: datetime) -> datetime:
    """Since when nothing but the machine itself keeps its Node from coming."""
    since = [
        _since(cluster.status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED),
        _since(cluster.status.conditions, ClusterCondition.INFRASTRUCTURE_READY),
        _since(machine.status.conditions, MachineCondition.INFRASTRUCTURE_READY),
        machine.metadata.creation_timestamp,
    ]
    return max((each for each in since if each is not None), default=now)


def _since(conditions: Conditions, type: str) -> datetime | None:
    found = get(conditions, type)
    return found.last_transition_time if found is not None and found.status == "True" else None


def _of_conditions(
    checks: Iterable[UnhealthyMachineCondition | UnhealthyNodeCondition],
    conditions: Iterable[Condition | NodeCondition],
    whose: str,
    now: datetime,
) -> _Finding:
    present = {each.type: each for each in conditions}
    problems: list[str] = []
    waits: list[timedelta] = []
    for check in checks:
        found = present.get(check.type)
        if found is None or found.status != check.status:
            continue
        limit = timedelta(seconds=check.timeout_seconds)
        lasted = _LONG_AGO if found.last_transition_time is None else now - found.last_transition_time
        if lasted > limit:
            problems.append(
                f"Condition {check.type} on {whose} is reporting status {check.status} with reason {found.reason} "
                f"for more than {duration(limit)}"
            )
        else:
            waits.append(limit - lasted + MARGIN)
    if problems:
        reason = MachineReason.UNHEALTHY_MACHINE if whose == "Machine" else MachineReason.UNHEALTHY_NODE
        return _Finding(tuple(problems), reason=reason)
    return _Finding(again_after=min(waits, default=None))


def duration(length: timedelta) -> str:
    """Whole seconds as Go prints them, which is what people know from such messages: 10m0s."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
