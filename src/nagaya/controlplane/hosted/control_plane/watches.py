"""Which changes of other objects concern which control planes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.clusters.news import is_news
from nagaya.controlplane.hosted.data_store_controller.seen import BY_STORE
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import is_true
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner
from nagaya.kube.tenant_secrets import TENANT_SECRETS


def watches(cache: Cache) -> tuple[Watch, ...]:
    """All of them."""
    return (
        Watch(CLUSTERS, of_cluster),
        Watch(DATA_STORES, OfStore(cache)),
        Watch(TENANT_SECRETS, owner(HOSTED_CONTROL_PLANES)),
    )


def of_cluster(change: Change[Cluster]) -> Iterable[Key]:
    """The control plane of a Cluster, unless nothing changed that it depends on."""
    if not is_news(change, lambda each: (each.metadata.annotations, each.metadata.uid, each.spec)):
        return ()
    return plane_of(change.object)


def plane_of(cluster: Cluster) -> Iterable[Key]:
    """The HostedControlPlane that a Cluster refers to, if it does."""
    reference = cluster.spec.control_plane_ref
    if reference is None or (reference.api_group, reference.kind) != (
        HOSTED_CONTROL_PLANES.group,
        HOSTED_CONTROL_PLANES.kind,
    ):
        return ()
    return (Key(cluster.metadata.namespace, reference.name),)


def waits_for_nodes(cache: Cache, cluster: Cluster) -> list[Key]:
    """The control plane of a Cluster, if its upgrade is held up: by Nodes, or because they are not known."""
    planes = ((key, cache.get(HOSTED_CONTROL_PLANES, key)) for key in plane_of(cluster))
    type = HostedControlPlaneCondition.UPGRADE_POSSIBLE
    return [key for key, plane in planes if plane is not None and not is_true(plane.status.conditions, type)]


@dataclass(frozen=True, slots=True)
class OfStore:
    """A DataStore came, went, or answers otherwise than before."""

    cache: Cache

    def __call__(self, change: Change[DataStore]) -> Iterable[Key]:
        """The control planes that refer to it, or have data there."""
        if not is_news(change, lambda each: (each.metadata.deleting, each.status.ready, each.status.conditions)):
            return ()
        return [Key.of(each) for each in self.cache.by(HOSTED_CONTROL_PLANES, BY_STORE, change.object.metadata.name)]
