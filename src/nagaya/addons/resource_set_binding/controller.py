"""The ClusterResourceSetBinding controller: a record without its cluster is deleted.

A Cluster of the same name that is made later must not be taken for one that has everything. Cluster API before 1.4 made
the Cluster an owner of the record and named it nowhere else; then the name is written down, and that reference is
removed, because the record goes before the Cluster.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import msgspec

from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS, ClusterResourceSetBinding
from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.meta import OwnerReference
from nagaya.clusters.owners import is_a
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
        name = cluster_of(binding)
        if not name:
            log.warning("ClusterResourceSetBinding %s is left alone: neither it nor an owner names its Cluster.", key)
            return
        cluster = self._rt.cache.get(CLUSTERS, Key(key.namespace, name))
        if why := why_obsolete(cluster):
            log.info("ClusterResourceSetBinding %s is deleted: %s", key, why)
            await self._api.delete(CLUSTER_RESOURCE_SET_BINDINGS, binding)
            return
        if change := migration(binding):
            log.info("ClusterResourceSetBinding %s names its Cluster %s, which no longer owns it.", key, name)
            await self._api.merge(CLUSTER_RESOURCE_SET_BINDINGS, binding, change, locked=True)


def why_obsolete(cluster: Cluster | None) -> str:
    """Why the record of a cluster is to go; empty if it is not."""
    if cluster is None:
        return "its Cluster does not exist."
    return "its Cluster is being deleted." if cluster.metadata.deleting else ""


def cluster_of(binding: ClusterResourceSetBinding) -> str:
    """The name of the Cluster that a record is about; empty if nothing says it."""
    owners = (each.name for each in binding.metadata.owner_references if is_a(each, CLUSTERS))
    return binding.spec.cluster_name or next(owners, "")


def owners_of(binding: ClusterResourceSetBinding) -> tuple[OwnerReference, ...]:
    """The owners that a record is to have: not its Cluster."""
    name = cluster_of(binding)
    return tuple(each for each in binding.metadata.owner_references if not (is_a(each, CLUSTERS) and each.name == name))


def migration(binding: ClusterResourceSetBinding) -> dict[str, Any] | None:
    """The merge patch for a record that says by its owners what it is about. None if it does not."""
    change: dict[str, Any] = {}
    if not binding.spec.cluster_name:
        change["spec"] = {"clusterName": cluster_of(binding)}
    owners = owners_of(binding)
    if owners != binding.metadata.owner_references:
        change["metadata"] = {"ownerReferences": msgspec.to_builtins(owners)}
    return change or None


def going(change: Change[Cluster]) -> tuple[Key, ...]:
    """The record of a Cluster that goes or is gone: it has the same name."""
    old, new = change
    started = new is not None and new.metadata.deleting and (old is None or not old.metadata.deleting)
    return (Key.of(change.object),) if started or new is None else ()
