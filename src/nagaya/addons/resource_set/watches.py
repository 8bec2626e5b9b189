"""Which changes of other objects concern which ClusterResourceSets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.addons.resource_set.contents import CONFIG_MAPS, SECRETS, Head
from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS, ClusterResourceSet
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS, ClusterResourceSetBinding
from nagaya.api.admission.selector import InvalidSelector, read
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key

_BY_RESOURCE: Final = "resource"


def watches(cache: Cache) -> tuple[Watch, ...]:
    """Everything that is heard of."""
    if not cache.has(CLUSTER_RESOURCE_SETS):
        cache.start(CLUSTER_RESOURCE_SETS)
    cache.add_index(CLUSTER_RESOURCE_SETS, _BY_RESOURCE, _resources)
    return (
        Watch(CLUSTERS, SetsOfCluster(cache)),
        Watch(CLUSTER_RESOURCE_SET_BINDINGS, SetsOfLostBinding(cache)),
        Watch(CONFIG_MAPS, SetsOfResource(cache, CONFIG_MAPS.kind)),
        Watch(SECRETS, SetsOfResource(cache, SECRETS.kind)),
    )


@dataclass(frozen=True, slots=True)
class SetsOfCluster:
    """A Cluster is new, or has other labels, or its control plane was initialized."""

    cache: Cache

    def __call__(self, change: Change[Cluster]) -> Iterable[Key]:
        """The keys of the sets that select it."""
        old, new = change
        if new is None or (old is not None and _facts(old) == _facts(new)):
            return ()
        return selecting(self.cache, new)


@dataclass(frozen=True, slots=True)
class SetsOfLostBinding:
    """The record of a cluster is gone: unless the cluster goes too, everything is to be brought anew."""

    cache: Cache

    def __call__(self, change: Change[ClusterResourceSetBinding]) -> Iterable[Key]:
        """The keys of the sets that select the cluster."""
        cluster = None if change.new is not None else self.cache.get(CLUSTERS, Key.of(change.object))
        return () if cluster is None else selecting(self.cache, cluster)


@dataclass(frozen=True, slots=True)
class SetsOfResource:
    """A ConfigMap or Secret came or changed. One that goes takes nothing away from clusters."""

    cache: Cache
    kind: str

    def __call__(self, change: Change[Head]) -> Iterable[Key]:
        """The keys of the sets that name it."""
        if change.new is None:
            return ()
        place = f"{self.kind} {Key.of(change.new)}"
        return [Key.of(each) for each in self.cache.by(CLUSTER_RESOURCE_SETS, _BY_RESOURCE, place)]


def selecting(cache: Cache, cluster: Cluster) -> list[Key]:
    """The sets that select a cluster."""
    sets = cache.list(CLUSTER_RESOURCE_SETS, cluster.metadata.namespace)
    return [Key.of(each) for each in sets if _selects(each, cluster)]


def _selects(resource_set: ClusterResourceSet, cluster: Cluster) -> bool:
    try:
        selector = read(resource_set.spec.cluster_selector)
    except InvalidSelector:
        return False
    return bool(selector.requirements) and selector.matches(cluster.metadata.labels)


def _facts(cluster: Cluster) -> tuple[Any, ...]:
    metadata = cluster.metadata
    initialized = cluster.status.initialization.control_plane_initialized
    return metadata.labels, metadata.deleting, metadata.uid, initialized


def _resources(resource_set: ClusterResourceSet) -> list[str]:
    namespace = resource_set.metadata.namespace
    return [f"{each.kind} {Key(namespace, each.name)}" for each in resource_set.spec.resources]
