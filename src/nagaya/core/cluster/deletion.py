"""How a Cluster goes: first what works for users, then what runs it, then what it stands on, then itself.

Machines need the API of the cluster to be drained, the control plane needs the infrastructure: each step waits until
the one before is complete. A control plane object deletes its own machines; without one they go with the workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterReason
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.kind import Kind, Object
from nagaya.clusters.external import Referenced
from nagaya.clusters.names import listed
from nagaya.core.cluster.descendants import Descendants, owned_by
from nagaya.core.cluster.seen import Seen

NAMES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Doomed:
    """An object that is to be deleted."""

    kind: Kind[Any]
    object: Object


@dataclass(frozen=True, slots=True)
class Deletion:
    """How far the deletion is, and what is to be deleted now."""

    reason: ClusterReason
    message: str
    delete: tuple[Doomed, ...] = ()

    @property
    def completed(self) -> bool:
        """Whether nothing is left but the Cluster."""
        return self.reason is ClusterReason.DELETION_COMPLETED


def deletion(seen: Seen) -> Deletion:
    """The step that the deletion is at."""
    if waiting := _still_there(seen.cluster, seen.descendants):
        return Deletion(
            ClusterReason.WAITING_FOR_WORKERS_DELETION,
            "\n".join(f"* {line}" for line in waiting),
            tuple(each for each in _children(seen.cluster, seen.descendants) if not each.object.metadata.deleting),
        )
    steps: tuple[tuple[Referenced[Any] | None, ClusterReason], ...] = (
        (seen.control_plane, ClusterReason.WAITING_FOR_CONTROL_PLANE_DELETION),
        (seen.infrastructure, ClusterReason.WAITING_FOR_INFRASTRUCTURE_DELETION),
    )
    for referenced, reason in steps:
        if referenced is None or referenced.missing:
            continue
        if referenced.provider is None or referenced.kind is None:
            # What cannot be read may still be there: going on would leave it behind.
            return Deletion(ClusterReason.INTERNAL_ERROR, referenced.problem)
        provider = referenced.provider
        doomed = () if provider.metadata.deleting else (Doomed(referenced.kind, provider.object),)
        return Deletion(reason, f"Waiting for {referenced.reference.kind} to be deleted", doomed)
    return Deletion(ClusterReason.DELETION_COMPLETED, "Deletion completed")


def _children(cluster: Cluster, descendants: Descendants) -> Iterable[Doomed]:
    """What the Cluster itself has to delete: those below other descendants go with them."""
    groups: list[tuple[Kind[Any], tuple[Object, ...]]] = [
        (MACHINE_POOLS, descendants.pools),
        (MACHINE_DEPLOYMENTS, descendants.deployments),
        (MACHINE_SETS, descendants.sets),
        (MACHINES, descendants.workers),
    ]
    if cluster.spec.control_plane_ref is None:
        groups.append((MACHINES, descendants.control_plane_machines))
    return (Doomed(kind, each) for kind, objects in groups for each in objects if owned_by(cluster, each))


def _still_there(cluster: Cluster, descendants: Descendants) -> list[str]:
    groups: list[tuple[str, tuple[Object, ...]]] = [
        ("MachineDeployments", descendants.deployments),
        ("MachineSets", descendants.sets),
        ("MachinePools", descendants.pools),
        ("Worker Machines", descendants.workers),
    ]
    if cluster.spec.control_plane_ref is None:
        groups.insert(0, ("Control plane Machines", descendants.control_plane_machines))
    return [f"{title}: {listed(_names(objects), NAMES_SHOWN)}" for title, objects in groups if objects]


def _names(objects: Iterable[Object]) -> list[str]:
    return sorted(each.metadata.name for each in objects)
