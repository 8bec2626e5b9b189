"""The Cluster controller: observe, plan, apply, tell the status; once per change, and never twice at a time.

What always holds: a Cluster has its finalizer before anything is done for it; a paused one is left alone; and the
status is told even if something could not be done. News are told at once, other numbers and messages within a second:
a hundred machines that come up together shall not mean a hundred writes to their Cluster.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import CLUSTERS, FINALIZER, Cluster
from nagaya.api.cluster.cluster_conditions import ClusterReason
from nagaya.api.cluster.cluster_status import ClusterStatus
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.cluster.pause import why_paused
from nagaya.clusters.external import LISTING_TIMEOUT, StillListing, listed
from nagaya.clusters.failures import worst
from nagaya.clusters.finalizer import release
from nagaya.clusters.pause import status_while_paused
from nagaya.core.cluster import changes, descendants
from nagaya.core.cluster.apply import Failure, apply
from nagaya.core.cluster.deletion import Deletion
from nagaya.core.cluster.left_over import left_over
from nagaya.core.cluster.plan import Happened, Plan, plan
from nagaya.core.cluster.references import served_kinds
from nagaya.core.cluster.seen import Seen, observe
from nagaya.core.cluster.status import NEWS, OWNED_CONDITIONS, OWNED_FIELDS, next_look, status
from nagaya.kube.contract_kinds import DEFINITIONS
from nagaya.kube.controller import SETTLE, WORKERS, Controller, Result, Watch
from nagaya.kube.errors import Conflict, NotFound
from nagaya.kube.key import Key
from nagaya.kube.mapping import label
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-cluster"
DETAILS_WAIT: Final = 1.0
"""For how many seconds what others do not act on may wait for more to be told: longer than elsewhere, because a
Cluster sums up everything below it."""
LAG: Final = 1.0
"""Seconds by which the cache may be behind the server without anything being wrong."""


class Clusters:
    """What is done for Clusters."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._said: dict[Key, str] = {}
        self.controller: Controller | None = None

    async def reconcile(self, key: Key) -> Result | None:
        """Bring a Cluster one step further."""
        rt = self._rt
        present = rt.cache.get(CLUSTERS, key)
        cluster = None if present is None else await self._hold(present)
        if cluster is None:
            self._forget(key)
            return None
        if why := why_paused(cluster, cluster, CLUSTERS.kind):
            paused = status_while_paused(cluster, why, rt.world.clock.now())
            await self._api.status(CLUSTERS, cluster, paused, conditions=OWNED_CONDITIONS, fields=OWNED_FIELDS)
            return None
        known = await self._follow(cluster)
        seen = observe(rt, cluster)
        steps = plan(seen)
        self._log(key, steps)
        self._connect(key, seen, steps)
        applied = await apply(rt, self._api, seen, steps)
        if steps.deletion is not None and steps.deletion.completed and not applied.failures:
            return await self._release(seen, steps)
        steps = _with_failures(steps, applied.failures)
        told = status(replace(seen, cluster=applied.cluster), steps)
        tell_after = await self._tell(applied.cluster, told)
        if tell_after is None:
            self._record(applied.cluster, cluster, told, steps)
        if applied.failures:
            raise worst(applied.failures, "several things could not be done")
        waits = (applied.look_again, next_look(seen), None if known else LISTING_TIMEOUT)
        return Result(min((each for each in waits if each is not None), default=None), tell_after)

    async def _hold(self, cluster: Cluster) -> Cluster | None:
        """Nothing is done for a Cluster that could vanish without cleaning up. None if it has vanished already."""
        finalizers = cluster.metadata.finalizers
        if cluster.metadata.deleting or FINALIZER in finalizers:
            return cluster
        try:
            return await self._api.metadata(CLUSTERS, cluster, finalizers=(*finalizers, FINALIZER))
        except NotFound:
            return None

    async def _release(self, seen: Seen, steps: Plan) -> Result | None:
        """Let a Cluster go of which nothing is left."""
        cluster = seen.cluster
        if FINALIZER not in cluster.metadata.finalizers:
            return None  # whoever else holds it lets it go
        if found := await left_over(self._rt, seen):
            log.info("cluster %s: waits to hear of %s", Key.of(cluster), found)
            return Result(LAG)
        if await release(self._rt, self._api, CLUSTERS, cluster, FINALIZER):
            for each in steps.happened:
                self._rt.recorder.normal(CLUSTERS, cluster, each.reason, each.note)
        return None

    async def _follow(self, cluster: Cluster) -> bool:
        """Hear of the kinds that the Cluster refers to. Returns whether all their objects are known; a reference to
        one that is not has a problem."""
        rt = self._rt
        kinds = served_kinds(rt, cluster)
        for kind in kinds:
            if self.controller is not None:
                self.controller.watch(kind, changes.ReferredTo(rt.cache))
        try:
            await listed(rt.cache, kinds)
        except StillListing:
            return False
        return True

    def _connect(self, key: Key, seen: Seen, steps: Plan) -> None:
        remotes = self._rt.remotes
        if not steps.connect:
            return
        remotes.want(key)
        before = seen.cluster.status.initialization.control_plane_initialized
        if steps.initialization.control_plane_initialized and not before and not seen.connected:
            remotes.hurry(key)

    async def _tell(self, cluster: Cluster, told: ClusterStatus) -> float | None:
        """Tell what is news. Returns after how many seconds the rest is to be told."""
        return await self._api.news(
            CLUSTERS, cluster, told, NEWS, conditions=OWNED_CONDITIONS, fields=OWNED_FIELDS, wait=DETAILS_WAIT
        )

    def _record(self, cluster: Cluster, before: Cluster, told: ClusterStatus, steps: Plan) -> None:
        name = cluster.metadata.name
        news = [*steps.happened]
        if told.phase != before.status.phase:
            news.append(Happened(told.phase, f"Cluster {name} is {told.phase}"))
        for each in news:
            self._rt.recorder.normal(CLUSTERS, cluster, each.reason, each.note)

    def _log(self, key: Key, steps: Plan) -> None:
        if self._said.get(key) != steps.sentence:
            self._said[key] = steps.sentence
            log.info("cluster %s: %s", key, steps.sentence)

    def _forget(self, key: Key) -> None:
        self._rt.remotes.forget(key)
        self._said.pop(key, None)


def controller(rt: Runtime, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache. It also keeps the connections to tenants."""
    changes.index(rt.cache)
    descendants.index(rt.cache)
    if not rt.cache.has(TENANT_SECRETS):
        follow_secrets(rt.cache, rt.remotes)
    clusters = Clusters(rt)
    by_label = label(labels.CLUSTER_NAME)
    made = clusters.controller = Controller(
        "cluster",
        CLUSTERS,
        clusters.reconcile,
        watches=[
            Watch(MACHINE_POOLS, by_label),
            Watch(MACHINE_DEPLOYMENTS, by_label),
            Watch(MACHINE_SETS, by_label),
            Watch(MACHINES, changes.of_machine),
            Watch(TENANT_SECRETS, changes.of_secret),
            Watch(DEFINITIONS, changes.Defined(rt.cache)),
        ],
        workers=workers,
        settle=SETTLE,
    )

    rt.remotes.subscribe(lambda key: made.look_at((key,)))
    return made


def _with_failures(steps: Plan, failures: list[Failure]) -> Plan:
    if steps.deletion is None or not failures or all(isinstance(each, Conflict) for each in failures):
        return steps
    return replace(steps, deletion=Deletion(ClusterReason.INTERNAL_ERROR, " ".join(map(str, failures))))
