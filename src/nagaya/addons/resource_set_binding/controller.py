"""The ClusterResourceSetBinding controller: a record without its cluster is deleted.

A Cluster of the same name that is made later must not be taken for one that has everything. Older versions of Cluster
API made the Cluster an owner of the record; that reference is removed, because the record goes before the Cluster.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS, ClusterResourceSetBinding
from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.meta import OwnerReference
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Controller, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

NAME: Final = "clusterresourcesetbinding"
MANAGER: Final = "nagaya-clusterresourcesetbinding"


def controller(rt: Runtime) -> Controller:
    """The controller, to be run by a manager with the same cache."""
    return Controller(NAME, CLUSTER_RESOURCE_SET_BINDINGS, Bindings(rt).reconcile, watches=[Watch(CLUSTERS, going)])


class Bindings:
    """Looks after ClusterResourceSetBindings."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)

    async def reconcile(self, key: Key) -> None:
        """Look at one record."""
        binding = self._rt.cache.get(CLUSTER_RESOURCE_SET_BINDINGS, key)
        if binding is None or binding.metadata.deleting or PAUSED in binding.metadata.annotations:
            return
        cluster = self._rt.cache.get(CLUSTERS, Key(key.namespace, binding.spec.cluster_name))
        if why := why_obsolete(cluster):
            log.info("ClusterResourceSetBinding %s is deleted: %s", key, why)
            await self._api.delete(CLUSTER_RESOURCE_SET_BINDINGS, binding)
            return
        await self._api.metadata(CLUSTER_RESOURCE_SET_BINDINGS, binding, owners=owners_of(binding))


def why_obsolete(cluster: Cluster | None) -> str:
    """Why the record of a cluster is to go; empty if it is not."""
    if cluster is None:
        return "its Cluster does not exist."
    return "its Cluster is being deleted." if cluster.metadata.deleting else ""


def owners_of(binding: ClusterResourceSetBinding) -> tuple[OwnerReference, ...]:
    """The owners that a record is to have: not its Cluster."""
    name = binding.spec.cluster_name
    return tuple(each for each in binding.metadata.owner_references if not _is_cluster(each, name))


def going(change: Change[Cluster]) -> tuple[Key, ...]:
    """The record of a Cluster that goes or is gone: it has the same name."""
    old, new = change
    started = new is not None and new.metadata.deleting and (old is None or not old.metadata.deleting)
    return (Key.of(change.object),) if started or new is None else ()


def _is_cluster(owner: OwnerReference, name: str) -> bool:
    group = owner.api_version.rpartition("/")[0]
    return (group, owner.kind, owner.name) == (CLUSTERS.group, CLUSTERS.kind, name)
