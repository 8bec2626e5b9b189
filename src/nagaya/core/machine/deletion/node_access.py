"""Whether a machine's Node may be drained and deleted at all.

When the whole cluster goes, or nothing is left that would move pods elsewhere, there is no use in it, and often nobody
to ask.
"""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.cluster import labels
from nagaya.api.contract.provider import Broken, ControlPlane
from nagaya.api.meta import ObjectMeta
from nagaya.core.machine.seen import Seen


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """The answer."""

    allowed: bool
    why_not: str = ""
    problem: str = ""
    """Why it cannot be said at this moment."""


def node_name(seen: Seen) -> str:
    """The name of the machine's Node: as the Machine knows it, or as the tenant tells. Empty if there is none."""
    reference = seen.machine.status.node_ref
    if reference is not None:
        return reference.name
    return "" if seen.node is None else seen.node.metadata.name


def node_access(seen: Seen) -> NodeAccess:
    """Whether the Node may be touched; the first of these that holds decides."""
    if seen.cluster.metadata.deleting:
        return _no("cluster is being deleted")
    if not node_name(seen):
        return _no("noderef is nil")
    control_plane = seen.control_plane
    if control_plane is not None:
        if control_plane.provider is None and not control_plane.missing:
            return NodeAccess(False, problem=control_plane.problem)
        if control_plane.deleting:
            return _no("control plane is being deleted")
        if control_plane.provider is not None and _external(control_plane.provider):
            return NodeAccess(True)
    if not any(_active_control_plane(each.metadata) for each in seen.cluster_machines):
        return _no("no control plane members")
    return NodeAccess(True)


def _no(why: str) -> NodeAccess:
    return NodeAccess(False, why)


def _external(control_plane: ControlPlane) -> bool:
    try:
        return control_plane.external
    except Broken:
        return False


def _active_control_plane(metadata: ObjectMeta) -> bool:
    return labels.CONTROL_PLANE in metadata.labels and not metadata.deleting
