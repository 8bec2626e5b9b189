"""The SimulatedCluster controller: observe, plan, apply, tell the status.

What always holds: the address of a cluster, once written down, stays; the authority is there before the cluster is
ready; and when the object is gone, nothing of the cluster is left in this process.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from nagaya.api.cluster.annotations import MANAGED_BY
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.pause import why_paused
from nagaya.api.simulated.conditions import SimulatedReason
from nagaya.api.simulated.simulated_cluster import (
    FINALIZER,
    SIMULATED_CLUSTERS,
    SimulatedCluster,
    SimulatedClusterStatus,
)
from nagaya.clusters.finalizer import release
from nagaya.infrastructure.simulated.cluster.apply import apply
from nagaya.infrastructure.simulated.cluster.plan import Plan, plan
from nagaya.infrastructure.simulated.cluster.seen import index, observe
from nagaya.infrastructure.simulated.cluster.status import CONDITIONS, FIELDS, NEWS, paused_status, status
from nagaya.infrastructure.simulated.owners import refers_to
from nagaya.infrastructure.simulated.tenants import AddressTaken, Tenants
from nagaya.kube.cache.change import Change
from nagaya.kube.controller import WORKERS, Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-simulatedcluster"
PORT_RETRY: Final = 10.0
"""Seconds until a port is tried again that somebody else has: nothing tells when it is free."""


class SimulatedClusters:
    """What is done for SimulatedClusters."""

    def __init__(self, rt: Runtime, tenants: Tenants) -> None:
        self._rt = rt
        self._tenants = tenants
        self._api = rt.api(MANAGER)
        self._clusters: dict[Key, Key] = {}
        """Which Cluster each has a tenant for."""
        self._said: dict[Key, str] = {}

    async def reconcile(self, key: Key) -> Result | None:
        """Bring a SimulatedCluster one step further."""
        rt = self._rt
        simulated = rt.cache.get(SIMULATED_CLUSTERS, key)
        if simulated is None:
            await self._end(key)
            return None
        if MANAGED_BY in simulated.metadata.annotations:
            return None
        seen = observe(rt, self._tenants, simulated)
        if why := why_paused(seen.cluster, simulated, SIMULATED_CLUSTERS.kind):
            told = paused_status(simulated, why, seen.now)
            await self._api.status(SIMULATED_CLUSTERS, simulated, told, conditions=CONDITIONS, fields=FIELDS)
            return None
        steps = plan(seen)
        self._log(key, steps)
        if steps.release:
            await self._end(key)
            await release(rt, self._api, SIMULATED_CLUSTERS, simulated, FINALIZER)
            return None
        again = steps.again_after
        if seen.cluster is not None:
            self._clusters[key] = Key.of(seen.cluster)
        try:
            simulated = await apply(self._api, self._tenants, seen, steps)
        except (AddressTaken, OSError) as error:
            steps = Plan(SimulatedReason.PROVISIONING_FAILED, f"The simulated API cannot listen: {error}.")
            again = PORT_RETRY
        return Result(again, await self._tell(simulated, status(simulated, steps, seen.now)))

    async def _end(self, key: Key) -> None:
        cluster = self._clusters.pop(key, None)
        self._said.pop(key, None)
        if cluster is not None:
            await self._tenants.stop(cluster)

    async def _tell(self, simulated: SimulatedCluster, told: SimulatedClusterStatus) -> float | None:
        """Tell what is news. Returns after how many seconds the rest is to be told."""
        return await self._api.news(SIMULATED_CLUSTERS, simulated, told, NEWS, conditions=CONDITIONS, fields=FIELDS)

    def _log(self, key: Key, steps: Plan) -> None:
        sentence = steps.sentence or "Ready for simulated machines."
        if self._said.get(key) != sentence:
            self._said[key] = sentence
            log.info("simulated cluster %s: %s", key, sentence)


def controller(rt: Runtime, tenants: Tenants, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    index(rt.cache)
    if not rt.cache.has(TENANT_SECRETS):
        follow_secrets(rt.cache, rt.remotes)
    return Controller(
        "simulatedcluster",
        SIMULATED_CLUSTERS,
        SimulatedClusters(rt, tenants).reconcile,
        watches=[Watch(CLUSTERS, of_cluster)],
        workers=workers,
    )


def of_cluster(change: Change[Cluster]) -> Iterable[Key]:
    """The SimulatedCluster that a Cluster refers to, if its wishes changed."""
    old, new = change
    if old is not None and new is not None and old.spec == new.spec:
        return ()
    reference = change.object.spec.infrastructure_ref
    if reference is None or not refers_to(reference, SIMULATED_CLUSTERS):
        return ()
    return (Key(change.object.metadata.namespace, reference.name),)
