"""The third of the three things that a machine consists of: the Node, which only the tenant knows.

When the tenant cannot be asked, the last known state is shown for a while (`Settings.remote_conditions_grace`) before
it is called unknown: most interruptions are short, and nobody should replace machines because of them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_status import NodeReference
from nagaya.api.meta import Condition, ConditionStatus
from nagaya.clusters.node import READY, Node, NodeCondition
from nagaya.core.machine.seen import Seen
from nagaya.kube.conditions import UNSET, condition, get
from nagaya.kube.remote import PROBE_FAILURES

_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
_TYPES: Final = (MachineCondition.NODE_READY, MachineCondition.NODE_HEALTHY)
_STATUSES: Final[dict[str, ConditionStatus]] = {"True": "True", "False": "False"}
_READY_REASONS: Final[dict[ConditionStatus, MachineReason]] = {
    "True": MachineReason.NODE_READY,
    "False": MachineReason.NODE_NOT_READY,
    "Unknown": MachineReason.NODE_READY_UNKNOWN,
}


def node_of(seen: Seen, provider_id: str) -> Node | None:
    """The Node that runs on the machine, if the tenant has it."""
    node = seen.node
    return node if provider_id and node is not None and node.spec.provider_id == provider_id else None


def node_problem(seen: Seen, provider_id: str, reference: NodeReference | None) -> str:
    """What is wrong with the Node; empty if nothing is, or if it cannot be known."""
    if not provider_id or seen.nodes is None:
        return ""
    if len(seen.nodes) > 1:
        names = ", ".join(each.metadata.name for each in seen.nodes)
        return f"unexpectedly found more than one Node matching the providerID {provider_id}: {names}"
    if not seen.nodes and reference is not None and not seen.deleting:
        return f"Node {reference.name} has been deleted while the Machine still exists"
    return ""


def node_conditions(seen: Seen, provider_id: str, reference: NodeReference | None) -> tuple[Condition, ...]:
    """The conditions NodeReady and NodeHealthy; none if those that are there shall stay."""
    cluster, now = seen.cluster, seen.now
    if not cluster.status.initialization.infrastructure_provisioned:
        waits = "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"
        return _both("Unknown", MachineReason.INSPECTION_FAILED, waits)
    node = node_of(seen, provider_id)
    if not seen.control_plane_initialized and node is None:
        waits = "Waiting for Cluster control plane to be initialized"
        return _both("Unknown", MachineReason.INSPECTION_FAILED, waits)
    answered = seen.probe.last_success
    if answered is None and seen.probe.failures < PROBE_FAILURES:
        return _unless_told(seen, "Remote connection not established yet")
    if now - _counted_from(seen) > seen.settings.remote_conditions_grace:
        return _both("Unknown", MachineReason.CONNECTION_DOWN, _last_success(answered))
    if seen.nodes is None:
        return _unless_told(seen, _last_success(answered))
    if provider_id and len(seen.nodes) > 1:
        problem = node_problem(seen, provider_id, reference)
        return _both("Unknown", MachineReason.INTERNAL_ERROR, problem)
    if node is not None:
        return _ready(node), _healthy(node)
    if seen.deleting:
        if reference is not None:
            return _both("False", MachineReason.NODE_DELETED, f"Node {reference.name} has been deleted")
        return _both("Unknown", MachineReason.NODE_DOES_NOT_EXIST, "Node does not exist")
    if reference is not None:
        gone = f"Node {reference.name} has been deleted while the Machine still exists"
        return _both("False", MachineReason.NODE_DELETED, gone)
    kind = seen.machine.spec.infrastructure_ref.kind
    waits = (
        f"Waiting for a Node with spec.providerID {provider_id} to exist"
        if provider_id
        else f"Waiting for {kind} to report spec.providerID"
    )
    return _both("Unknown", MachineReason.INSPECTION_FAILED, waits)


def connection_counts_until(seen: Seen) -> timedelta | None:
    """How long it takes until the tenant's silence shows in the conditions, if it is silent and that lies ahead."""
    if not seen.control_plane_initialized or (seen.nodes is not None and not seen.probe.failures):
        return None
    left = _counted_from(seen) + seen.settings.remote_conditions_grace - seen.now
    return left if left >= timedelta() else None


def _counted_from(seen: Seen) -> datetime:
    """The grace begins with the last answer, but not before the tenant could answer at all."""
    initialized = get(seen.cluster.status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED)
    since = UNSET if initialized is None else initialized.last_transition_time
    return max(since, seen.probe.last_success or UNSET)


def _last_success(when: datetime | None) -> str:
    return "" if when is None else f"Last successful probe at {when:%Y-%m-%dT%H:%M:%SZ}"


def _unless_told(seen: Seen, message: str) -> tuple[Condition, ...]:
    present = seen.machine.status.conditions
    if all(get(present, type) is not None for type in _TYPES):
        return ()
    return _both("Unknown", MachineReason.CONNECTION_DOWN, message)


def _both(status: ConditionStatus, reason: MachineReason, message: str) -> tuple[Condition, ...]:
    return tuple(condition(type, status, reason, message) for type in _TYPES)


def _ready(node: Node) -> Condition:
    type = MachineCondition.NODE_READY
    told = node.condition(READY)
    if told is None:
        waits = "* Node.Ready: Condition not yet reported"
        return condition(type, "Unknown", MachineReason.NODE_READY_UNKNOWN, waits)
    status = _STATUSES.get(told.status, "Unknown")
    message = f"* Node.Ready: {told.message}" if status != "True" and told.message else ""
    return condition(type, status, _READY_REASONS[status], message, since=told.last_transition_time or UNSET)


def _healthy(node: Node) -> Condition:
    """All conditions of the Node that count, in one; only what is not good is mentioned."""
    lines: list[str] = []
    bad: list[NodeCondition] = []
    unknown = False
    for type in (READY, *_PRESSURES):
        told = node.condition(type)
        if told is None:
            lines.append(f"* Node.{type}: Condition not yet reported")
            unknown = True
        elif told.status != ("True" if type == READY else "False"):
            bad.append(told)
            lines.append(f"* Node.{type}: {_why(told)}")
            unknown = unknown or told.status == "Unknown"
    if len(bad) > 1 and len({_why(each) for each in bad}) == 1:
        lines = [f"* Node.AllConditions: {_why(bad[0])}"]
    message = "\n".join(lines)
    type = MachineCondition.NODE_HEALTHY
    if any(each.status != "Unknown" for each in bad):
        return condition(type, False, MachineReason.NODE_NOT_HEALTHY, message)
    if unknown:
        return condition(type, "Unknown", MachineReason.NODE_HEALTHY_UNKNOWN, message)
    return condition(type, True, MachineReason.NODE_HEALTHY)


def _why(told: NodeCondition) -> str:
    return told.message or f"Condition is {told.status}"
