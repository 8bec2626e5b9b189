"""What a Cluster tells of operations under way: RollingOut, ScalingUp, ScalingDown. They are good when False."""

from __future__ import annotations

from typing import Final, NamedTuple

from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.meta import Condition
from nagaya.core.cluster.descendants import owned_by
from nagaya.core.cluster.seen import Seen
from nagaya.kube.conditions import DefaultMerge, Source, aggregate, condition, conditions_of, get, reasons, weigh


class _Operation(NamedTuple):
    type: ClusterCondition
    going_on: ClusterReason
    unknown: ClusterReason
    idle: ClusterReason
    sets: bool
    """Whether sets that no deployment manages tell of it, too."""


_ROLLING_OUT: Final = _Operation(
    ClusterCondition.ROLLING_OUT,
    ClusterReason.ROLLING_OUT,
    ClusterReason.ROLLING_OUT_UNKNOWN,
    ClusterReason.NOT_ROLLING_OUT,
    sets=False,
)
_SCALING_UP: Final = _Operation(
    ClusterCondition.SCALING_UP,
    ClusterReason.SCALING_UP,
    ClusterReason.SCALING_UP_UNKNOWN,
    ClusterReason.NOT_SCALING_UP,
    sets=True,
)
_SCALING_DOWN: Final = _Operation(
    ClusterCondition.SCALING_DOWN,
    ClusterReason.SCALING_DOWN,
    ClusterReason.SCALING_DOWN_UNKNOWN,
    ClusterReason.NOT_SCALING_DOWN,
    sets=True,
)


def rolling_out(seen: Seen) -> Condition:
    """Whether machines are being replaced by others of a new template."""
    return _operation(seen, _ROLLING_OUT)


def scaling_up(seen: Seen) -> Condition:
    """Whether there are fewer machines than there are to be."""
    return _operation(seen, _SCALING_UP)


def scaling_down(seen: Seen) -> Condition:
    """Whether there are more machines than there are to be."""
    return _operation(seen, _SCALING_DOWN)


def _operation(seen: Seen, operation: _Operation) -> Condition:
    type = operation.type
    if seen.control_plane is not None and seen.control_plane.provider is None and seen.control_plane.problem:
        return condition(type, "Unknown", ClusterReason.INTERNAL_ERROR, seen.control_plane.problem)
    sources = [*_control_plane(seen, type)]
    sources += (Source.of(MACHINE_DEPLOYMENTS, each) for each in seen.descendants.deployments)
    if operation.sets:
        sources += (Source.of(MACHINE_SETS, each) for each in seen.descendants.sets if owned_by(seen.cluster, each))
    if not sources:
        return condition(type, False, operation.idle)
    strategy = DefaultMerge(
        weigh((type,)), positive=False, reason=reasons(operation.going_on, operation.unknown, operation.idle)
    )
    return aggregate(sources, type, strategy=strategy)


def _control_plane(seen: Seen, type: ClusterCondition) -> list[Source]:
    """The control plane, if it tells of the operation: the contract does not demand it."""
    if seen.control_plane is None or seen.control_plane.provider is None:
        return []
    try:
        told = conditions_of(seen.control_plane.provider.object)
    except ValueError:
        return []  # ControlPlaneAvailable says what is wrong with them
    if get(told, type) is None:
        return []
    return [Source(seen.control_plane.reference.kind, seen.control_plane.provider.metadata.name, told)]
