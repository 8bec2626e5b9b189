"""The MachineDeployment controller: the order of its work, and what it watches.

MachineSets tell everything that happens to machines by changes of their own status, so machines are read and not
watched. Templates are watched once a deployment refers to them, because a missing one holds a deployment up.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_deployment import (
    FINALIZER,
    MACHINE_DEPLOYMENTS,
    MachineDeployment,
    MachineDeploymentStatus,
)
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.kind import Kind
from nagaya.clusters.external import keep, listed, served
from nagaya.clusters.finalizer import release
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine_deployment.applied import Applied
from nagaya.core.machine_deployment.apply import adopt, apply, prepare
from nagaya.core.machine_deployment.plan import Plan, plan
from nagaya.core.machine_deployment.seen import Seen, observe
from nagaya.core.machine_deployment.status import CONDITIONS, DETAILS_WAIT, FIELDS, NEWS, next_look, status
from nagaya.core.machine_deployment.templates import references
from nagaya.core.machine_deployment.watches import OfCluster, OfTemplate, OfTemplateKind, WhoMayAdopt, add_indexes
from nagaya.kube.contract_kinds import DEFINITIONS
from nagaya.kube.controller import SETTLE, WORKERS, Controller, Result, Watch
from nagaya.kube.errors import ApiError, Conflict
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

NAME: Final = "machinedeployment"
MANAGER: Final = "nagaya-machinedeployment"
"""The field manager of what the controller tells."""
SETS_MANAGER: Final = "capi-machinedeployment"
"""The field manager of MachineSets: the name that Cluster API's own controller applies them under, so that what it said
goes, too, when a plane takes over from the other."""


def controller(rt: Runtime, *, workers: int = WORKERS) -> Controller:
    """The controller, to be added to a manager."""
    cache = rt.cache
    read: tuple[Kind[Any], ...] = (MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES, CLUSTERS)
    keep(cache, read)
    add_indexes(cache)
    reconciler = Reconciler(rt)
    reconciler.controller = Controller(
        NAME,
        MACHINE_DEPLOYMENTS,
        reconciler.reconcile,
        watches=(
            Watch(MACHINE_SETS, owner(MACHINE_DEPLOYMENTS)),
            Watch(MACHINE_SETS, WhoMayAdopt(cache)),
            Watch(CLUSTERS, OfCluster(cache)),
            Watch(DEFINITIONS, OfTemplateKind(cache)),
        ),
        workers=workers,
        settle=SETTLE,
    )
    return reconciler.controller


class Reconciler:
    """Sees to one deployment at a time."""

    controller: Controller

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(SETS_MANAGER)
        self._teller = rt.api(MANAGER)
        self._applied: dict[Key, Applied] = {}

    async def reconcile(self, key: Key) -> Result | None:
        """Bring a deployment on by one step."""
        deployment = self._rt.cache.get(MACHINE_DEPLOYMENTS, key)
        if deployment is None:
            self._applied.pop(key, None)
            return None
        seen = await self._observe(deployment)
        if seen.paused:
            await self._say(seen, status_while_paused(deployment, seen.paused, seen.now))
            return None
        if seen.cluster is None and not deployment.metadata.deleting:
            log.info("MachineDeployment %s waits for Cluster %s to exist", key, deployment.spec.cluster_name)
            return None
        if seen.orphans:
            await adopt(self._api, self._rt.recorder, seen)
            seen = await self._observe(deployment)
        decided = plan(seen)
        if decided.stuck:
            log.info("MachineDeployment %s waits: %s", key, decided.says)
        if decided.release:
            await self._release(seen)
            return None
        try:
            await self._apply(key, seen, decided)
        except Conflict:
            raise
        except ApiError:
            # What is known is told even if something cannot be done; the error itself is logged and tried again.
            await self._say(seen, status(seen, stuck=True))
            raise
        told = status(seen, stuck=decided.stuck)
        tell_after = await self._teller.news(
            MACHINE_DEPLOYMENTS,
            seen.deployment,
            told,
            NEWS,
            conditions=CONDITIONS,
            fields=FIELDS,
            wait=DETAILS_WAIT,
        )
        return Result(next_look(seen), tell_after)

    async def _observe(self, deployment: MachineDeployment) -> Seen:
        if not deployment.metadata.deleting:
            await self._follow_templates(deployment)
        return observe(self._rt, deployment)

    async def _follow_templates(self, deployment: MachineDeployment) -> None:
        """Have the kinds of the templates in the cache: a template that is not there must not look missing."""
        rt = self._rt
        kinds = []
        for each in references(deployment):
            kind = served(rt.kinds, each.api_group, each.kind)
            if kind is not None:
                self.controller.watch(kind, OfTemplate(rt.cache, f"{each.kind}.{each.api_group}"))
                kinds.append(kind)
        await listed(rt.cache, kinds)

    async def _apply(self, key: Key, seen: Seen, decided: Plan) -> None:
        if seen.cluster is not None and not seen.deployment.metadata.deleting:
            await prepare(self._api, seen, seen.cluster, decided)
        applied = self._applied.setdefault(key, Applied())
        await apply(self._api, self._rt.recorder, applied, seen, decided)

    async def _release(self, seen: Seen) -> None:
        if set(seen.deployment.metadata.finalizers) - {FINALIZER}:
            # Others hold the deployment, so somebody will still look at it.
            await self._say(seen, status(seen, stuck=False))
        await release(self._rt, self._api, MACHINE_DEPLOYMENTS, seen.deployment, FINALIZER)

    async def _say(self, seen: Seen, said: MachineDeploymentStatus) -> None:
        await self._teller.status(MACHINE_DEPLOYMENTS, seen.deployment, said, conditions=CONDITIONS, fields=FIELDS)
