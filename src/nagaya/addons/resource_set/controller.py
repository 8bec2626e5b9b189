"""The ClusterResourceSet controller: every cluster that a set selects gets what the set names.

It reads from the management API, writes to tenants, and keeps a record for each cluster, the
ClusterResourceSetBinding. What always holds: nothing is ever deleted in a tenant; a set that goes is taken off the
records first; and what is on record as applied is not applied again unless it changed and the set says Reconcile.
"""

from __future__ import annotations

import logging
from typing import Final

from nagaya.addons.resource_set import contents
from nagaya.addons.resource_set.contents import Contents, kind_of
from nagaya.addons.resource_set.errands import MANAGER, Errands
from nagaya.addons.resource_set.plan import Plan, plan
from nagaya.addons.resource_set.seen import Resource, Seen, sites_of
from nagaya.addons.resource_set.status import CONDITIONS, FIELDS, status, status_of_unusable
from nagaya.addons.resource_set.watches import selecting, watches
from nagaya.api.addons.cluster_resource_set import (
    CLUSTER_RESOURCE_SETS,
    FINALIZER,
    ClusterResourceSet,
    ClusterResourceSetStatus,
)
from nagaya.api.admission.selector import InvalidSelector
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.pause import why_paused
from nagaya.clusters.failures import worst
from nagaya.clusters.finalizer import release
from nagaya.clusters.owners import owner, with_owner
from nagaya.clusters.pause import status_while_paused
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import Controller
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

NAME: Final = "clusterresourceset"


def controller(rt: Runtime) -> Controller:
    """The controller, to be run by a manager with the same cache."""
    return ResourceSets(rt).controller


class ResourceSets:
    """Looks after ClusterResourceSets."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._contents = Contents(rt.client, rt.cache)
        self._connected: dict[Key, Remote] = {}
        self._said: dict[Key, tuple[str, ...]] = {}
        contents.start(rt.cache)
        if not rt.cache.has(CLUSTERS):
            rt.cache.start(CLUSTERS)
        self.controller = Controller(
            NAME, CLUSTER_RESOURCE_SETS, self.reconcile, watches=watches(rt.cache), on_stop=self._stop
        )
        self._errands = Errands(rt, self.controller.look_at)
        rt.cache.subscribe(CLUSTERS, self._cluster_changed)
        rt.remotes.subscribe(self._tenant_changed)

    async def reconcile(self, key: Key) -> None:
        """Look at one set and the clusters that it selects."""
        resource_set = self._rt.cache.get(CLUSTER_RESOURCE_SETS, key)
        if resource_set is None:
            self._said.pop(key, None)
            await self._errands.abandon(key)
            return
        if why := why_paused(None, resource_set, CLUSTER_RESOURCE_SETS.kind):
            await self._tell(resource_set, status_while_paused(resource_set, why, self._rt.world.clock.now()))
            return
        if resource_set.metadata.deleting:
            await self._release(resource_set)
            return
        resource_set = await self._hold(resource_set)
        seen = await self._observe(resource_set)
        planned = plan(seen)
        self._log(key, planned)
        returned = await self._errands.send(resource_set, planned.errands)
        await self._tell(resource_set, status(seen, planned, returned, self._rt.world.clock.now()))
        if returned.problems:
            raise worst(returned.problems, "; ".join(map(str, returned.problems)))

    async def _observe(self, resource_set: ClusterResourceSet) -> Seen:
        try:
            sites = sites_of(self._rt, resource_set)
        except InvalidSelector:
            await self._tell(resource_set, status_of_unusable(resource_set, self._rt.world.clock.now()))
            raise
        if not sites:
            return Seen(resource_set, (), ())
        for site in sites:
            if site.cluster.status.initialization.control_plane_initialized:
                self._rt.remotes.want(site.key)
        await self._own(resource_set)
        namespace = resource_set.metadata.namespace
        resources = [Resource(each, await self._contents.read(each, namespace)) for each in resource_set.spec.resources]
        return Seen(resource_set, tuple(resources), sites)

    async def _own(self, resource_set: ClusterResourceSet) -> None:
        """Resources go with the last set that names them."""
        for each in resource_set.spec.resources:
            kind = kind_of(each)
            head = self._rt.cache.get(kind, Key(resource_set.metadata.namespace, each.name))
            if head is not None:
                wanted = owner(CLUSTER_RESOURCE_SETS, resource_set)
                await self._api.metadata(kind, head, owners=with_owner(head.metadata.owner_references, wanted))

    async def _hold(self, resource_set: ClusterResourceSet) -> ClusterResourceSet:
        """Nothing is done for a set that could vanish without being taken off the records."""
        finalizers = resource_set.metadata.finalizers
        if FINALIZER in finalizers:
            return resource_set
        return await self._api.metadata(CLUSTER_RESOURCE_SETS, resource_set, finalizers=(*finalizers, FINALIZER))

    async def _release(self, resource_set: ClusterResourceSet) -> None:
        if FINALIZER not in resource_set.metadata.finalizers:
            return
        await self._errands.retract(resource_set)
        await release(self._rt, self._api, CLUSTER_RESOURCE_SETS, resource_set, FINALIZER)
        log.info("ClusterResourceSet %s: it is off all records, so it is let go.", Key.of(resource_set))

    async def _tell(self, resource_set: ClusterResourceSet, told: ClusterResourceSetStatus) -> None:
        await self._api.status(CLUSTER_RESOURCE_SETS, resource_set, told, conditions=CONDITIONS, fields=FIELDS)

    def _log(self, key: Key, planned: Plan) -> None:
        for errand in planned.errands:
            if errand.loads:
                names = ", ".join(f"{each.reference.kind} {each.reference.name}" for each in errand.loads)
                log.info("ClusterResourceSet %s: Cluster %s gets %s.", key, errand.site.key, names)
        if self._said.get(key, ()) != planned.obstacles:
            self._said[key] = planned.obstacles
            for each in planned.obstacles:
                log.warning("ClusterResourceSet %s: %s", key, each)

    def _cluster_changed(self, change: Change[Cluster]) -> None:
        if change.new is None:
            key = Key.of(change.object)
            self._rt.remotes.forget(key)
            self._errands.forget(key)

    def _tenant_changed(self, key: Key) -> None:
        """A tenant is connected, disconnected, or its probes tell something else, which does not matter here."""
        remote = self._rt.remotes.get(key)
        if remote is None:
            self._connected.pop(key, None)
        elif self._connected.get(key) is not remote:
            self._connected[key] = remote
            cluster = self._rt.cache.get(CLUSTERS, key)
            if cluster is not None:
                self.controller.look_at(selecting(self._rt.cache, cluster))

    async def _stop(self) -> None:
        """What is under way to clusters ends here: another process may be in charge in a moment."""
        await self._errands.close()
