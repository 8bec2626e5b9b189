"""The machines of a tenant, which go before its control plane: they are drained through its API.

Who deletes a Cluster need not think of it, because its controller takes them in this order. Who deletes a control plane
alone is told what it waits for, and until then it is looked after as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.clusters.names import listed
from nagaya.controlplane.hosted.control_plane.watches import plane_of
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key

_SHOWN: Final = 3


def waits_for_workers(cache: Cache, plane: HostedControlPlane, cluster: Cluster | None) -> str:
    """Why a control plane that shall go has to wait; empty if it has not: no machine is left, or nobody knows of which
    cluster they would be."""
    if cluster is None or not plane.metadata.deleting or FINALIZER not in plane.metadata.finalizers:
        return ""
    machines = cache.list(MACHINES, cluster.metadata.namespace)
    names = [each.metadata.name for each in machines if each.spec.cluster_name == cluster.metadata.name]
    if not names:
        return ""
    return (
        f"Machines go first, because they are drained through this API: {listed(names, _SHOWN)}. Delete them, or the "
        f"Cluster {cluster.metadata.name}, whose machines are deleted with it."
    )


@dataclass(frozen=True, slots=True)
class OfMachine:
    """A Machine is gone."""

    cache: Cache

    def __call__(self, change: Change[Machine]) -> Iterable[Key]:
        """The control plane that may have waited for it."""
        if change.new is not None or change.old is None:
            return ()
        cluster = self.cache.get(CLUSTERS, Key(change.old.metadata.namespace, change.old.spec.cluster_name))
        keys = () if cluster is None else plane_of(cluster)
        planes = ((key, self.cache.get(HOSTED_CONTROL_PLANES, key)) for key in keys)
        return [key for key, plane in planes if plane is not None and plane.metadata.deleting]
