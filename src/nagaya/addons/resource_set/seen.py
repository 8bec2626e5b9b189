"""Everything that a plan for a ClusterResourceSet may depend on."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.addons.resource_set.contents import Content
from nagaya.api.addons.cluster_resource_set import ClusterResourceSet, ResourceRef
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS, ClusterResourceSetBinding
from nagaya.api.admission.selector import read
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Resource:
    """A ConfigMap or Secret that the set names."""

    reference: ResourceRef
    content: Content | None
    """None if it does not exist."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster that the set selects."""

    cluster: Cluster
    binding: ClusterResourceSetBinding | None
    """What the cluster got already."""
    connected: bool

    @property
    def key(self) -> Key:
        """The key of the cluster, which is that of its record, too."""
        return Key.of(self.cluster)


@dataclass(frozen=True, slots=True)
class Seen:
    """A set, what it brings, and where to."""

    resource_set: ClusterResourceSet
    resources: tuple[Resource, ...]
    sites: tuple[Site, ...]


def sites_of(rt: Runtime, resource_set: ClusterResourceSet) -> tuple[Site, ...]:
    """The clusters that a set selects, without those that go. Raises InvalidSelector."""
    selector = read(resource_set.spec.cluster_selector)
    if not selector.requirements:
        return ()  # an empty selector is a mistake, and "everything" would be a grave one
    return tuple(
        Site(each, rt.cache.get(CLUSTER_RESOURCE_SET_BINDINGS, Key.of(each)), rt.remotes.get(Key.of(each)) is not None)
        for each in rt.cache.list(CLUSTERS, resource_set.metadata.namespace)
        if not each.metadata.deleting and selector.matches(each.metadata.labels)
    )
