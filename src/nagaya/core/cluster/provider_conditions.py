"""What a Cluster tells of the objects it refers to: InfrastructureReady, ControlPlaneAvailable,
ControlPlaneInitialized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.provider_conditions import ProviderCondition
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import Referenced
from nagaya.core.cluster.plan import Plan
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import condition, conditions_of, is_true, mirror
from nagaya.kube.conditions.untyped import NO_REASON

AVAILABLE: Final = "Available"
"""The condition that control plane providers have."""
WAITING_FOR_TOPOLOGY: Final = "Waiting for cluster topology to be reconciled"
WAITING_FOR_NODE: Final = "Waiting for the first control plane machine to have status.nodeRef set"


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """A condition of a provider's object, and how a Cluster shows it."""

    target: ClusterCondition
    source: str
    good: ClusterReason
    bad: ClusterReason
    field: str
    """What stands in for the condition, since the contract does not demand that it is there."""


_INFRASTRUCTURE: Final = _Mirrored(
    ClusterCondition.INFRASTRUCTURE_READY,
    ProviderCondition.READY,
    ClusterReason.READY,
    ClusterReason.NOT_READY,
    "status.initialization.provisioned",
)
_CONTROL_PLANE: Final = _Mirrored(
    ClusterCondition.CONTROL_PLANE_AVAILABLE,
    AVAILABLE,
    ClusterReason.AVAILABLE,
    ClusterReason.NOT_AVAILABLE,
    "status.initialization.controlPlaneInitialized",
)


def infrastructure_ready(seen: Seen, plan: Plan) -> Condition:
    """Whether the infrastructure works, as its provider says."""
    type = ClusterCondition.INFRASTRUCTURE_READY
    if seen.infrastructure is None:
        if seen.cluster.spec.topology is not None:
            return condition(type, False, ClusterReason.OBJECT_DOES_NOT_EXIST, _topology(seen))
        return condition(type, True, ClusterReason.READY)  # there is none that could not be
    return _shown(seen, seen.infrastructure, _INFRASTRUCTURE, plan.initialization.infrastructure_provisioned is True)


def control_plane_available(seen: Seen, plan: Plan) -> Condition:
    """Whether the control plane works, as its provider says; without one, whether it ever came up."""
    type = ClusterCondition.CONTROL_PLANE_AVAILABLE
    if seen.control_plane is None:
        if seen.cluster.spec.topology is not None:
            return condition(type, False, ClusterReason.OBJECT_DOES_NOT_EXIST, _topology(seen))
        if _machines_initialized(seen):
            return condition(type, True, ClusterReason.AVAILABLE)
        return condition(type, False, ClusterReason.NOT_AVAILABLE, WAITING_FOR_NODE)
    return _shown(seen, seen.control_plane, _CONTROL_PLANE, plan.initialization.control_plane_initialized is True)


def control_plane_initialized(seen: Seen) -> Condition | None:
    """Whether the control plane has answered once. None if that is told already: it stays."""
    type = ClusterCondition.CONTROL_PLANE_INITIALIZED
    if is_true(seen.cluster.status.conditions, type):
        return None
    if seen.control_plane is None:
        if seen.cluster.spec.topology is not None:
            return condition(type, "Unknown", ClusterReason.OBJECT_DOES_NOT_EXIST, _topology(seen))
        if _machines_initialized(seen):
            return condition(type, True, ClusterReason.INITIALIZED)
        return condition(type, False, ClusterReason.NOT_INITIALIZED, WAITING_FOR_NODE)
    if seen.control_plane.problem:
        return condition(type, "Unknown", ClusterReason.INTERNAL_ERROR, seen.control_plane.problem)
    if seen.control_plane.provider is None:
        message = f"{seen.control_plane.reference.kind} does not exist"
        return condition(type, "Unknown", ClusterReason.OBJECT_DOES_NOT_EXIST, message)
    if seen.control_plane.provider.initialized:
        return condition(type, True, ClusterReason.INITIALIZED)
    return condition(type, False, ClusterReason.NOT_INITIALIZED, "Control plane not yet initialized")


def _shown(seen: Seen, referenced: Referenced[Any], shown: _Mirrored, complete: bool) -> Condition:
    if referenced.provider is not None:
        return _mirrored(referenced.reference.kind, referenced.provider.object, shown, complete)
    if referenced.problem:
        return condition(shown.target, "Unknown", ClusterReason.INTERNAL_ERROR, referenced.problem)
    if not complete:
        message = f"{referenced.reference.kind} does not exist"
        return condition(shown.target, False, ClusterReason.OBJECT_DOES_NOT_EXIST, message)
    while_alive = "" if seen.cluster.metadata.deleting else " while the cluster still exists"
    message = f"{referenced.reference.kind} has been deleted{while_alive}"
    return condition(shown.target, False, ClusterReason.OBJECT_DELETED, message)


def _mirrored(kind: str, obj: Untyped, shown: _Mirrored, complete: bool) -> Condition:
    fallback = condition(
        shown.target,
        complete,
        shown.good if complete else shown.bad,
        "" if complete else f"{kind} {shown.field} is false",
    )
    try:
        told = conditions_of(obj)
    except ValueError as error:
        return condition(shown.target, "Unknown", ClusterReason.INVALID_CONDITION_REPORTED, str(error))
    found = mirror(told, shown.source, target=shown.target, fallback=fallback)
    if found.status == "True" and found.reason == NO_REASON:
        # Conditions of the old form have no reason when all is well.
        return msgspec.structs.replace(found, reason=shown.good)
    return found


def _machines_initialized(seen: Seen) -> bool:
    initialized = is_true(seen.cluster.status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED)
    return initialized or any(each.status.node_ref is not None for each in seen.descendants.control_plane_machines)


def _topology(seen: Seen) -> str:
    return "" if seen.cluster.metadata.deleting else WAITING_FOR_TOPOLOGY
