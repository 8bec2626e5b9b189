"""The SimulatedMachine controller: observe, plan, apply, tell the status.

What always holds: a machine that may have a Node has its finalizer; when the object is gone, so is the machine. All
that a machine is can be told from its object, so a process that starts anew lets it join again at once.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.pause import why_paused
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.api.simulated.simulated_machine import (
    FINALIZER,
    SIMULATED_MACHINES,
    SimulatedMachine,
    SimulatedMachineStatus,
)
from nagaya.clusters.finalizer import release
from nagaya.infrastructure.simulated.machine.apply import CannotJoin, hold, run
from nagaya.infrastructure.simulated.machine.changes import MachinesOf, OfAuthority, OfCluster, of_machine
from nagaya.infrastructure.simulated.machine.plan import Plan, Said, plan
from nagaya.infrastructure.simulated.machine.seen import Seen, index, observe
from nagaya.infrastructure.simulated.machine.status import CONDITIONS, FIELDS, NEWS, paused_status, status
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.controller import WORKERS, Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-simulatedmachine"


class SimulatedMachines:
    """What is done for SimulatedMachines."""

    def __init__(self, rt: Runtime, tenants: Tenants) -> None:
        self._rt = rt
        self._tenants = tenants
        self._api = rt.api(MANAGER)
        self._places: dict[Key, tuple[Key, str]] = {}
        """Of each machine that has joined: the Cluster, and its uid."""

    async def reconcile(self, key: Key) -> Result | None:
        """Bring a SimulatedMachine one step further."""
        rt = self._rt
        host = rt.cache.get(SIMULATED_MACHINES, key)
        if host is None:
            await self._end(key)
            return None
        seen = observe(rt, self._tenants, host)
        if why := why_paused(seen.cluster, host, SIMULATED_MACHINES.kind):
            told = paused_status(host, why, seen.now)
            await self._api.status(SIMULATED_MACHINES, host, told, conditions=CONDITIONS, fields=FIELDS)
            return None
        steps = plan(seen)
        log.debug("simulated machine %s: %s", key, steps.ready.message or steps.ready.reason)
        if steps.hold:
            host = await hold(self._api, host)
        steps = await self._run(replace(seen, host=host), steps)
        if steps.release:
            await self._release(host)
            return None
        tell_after = None if steps.silent else await self._tell(host, status(seen, host, steps))
        return Result(steps.again_after, tell_after)

    async def _run(self, seen: Seen, steps: Plan) -> Plan:
        if steps.joins:
            self._places[Key.of(seen.host)] = (seen.cluster_key, seen.host.metadata.uid)
        try:
            await run(self._rt, self._tenants, seen, steps)
        except CannotJoin as error:
            log.warning("simulated machine %s: %s", Key.of(seen.host), error)
            return replace(steps, node=Said(False, error.reason, str(error)), again_after=error.again_after)
        return steps

    async def _end(self, key: Key) -> None:
        """Nothing is left of a machine whose object is gone, however it went."""
        cluster, uid = self._places.pop(key, (None, ""))
        tenancy = None if cluster is None else self._tenants.tenancy(cluster)
        if tenancy is not None:
            await tenancy.leave(key.name, uid)

    async def _release(self, host: SimulatedMachine) -> None:
        log.info("simulated machine %s: is gone", Key.of(host))
        await release(self._rt, self._api, SIMULATED_MACHINES, host, FINALIZER)

    async def _tell(self, host: SimulatedMachine, told: SimulatedMachineStatus) -> float | None:
        """Tell what is news. Returns after how many seconds the rest is to be told."""
        return await self._api.news(SIMULATED_MACHINES, host, told, NEWS, conditions=CONDITIONS, fields=FIELDS)


def controller(rt: Runtime, tenants: Tenants, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    index(rt.cache)
    if not rt.cache.has(SIMULATED_CLUSTERS):
        rt.cache.start(SIMULATED_CLUSTERS)
    if not rt.cache.has(TENANT_SECRETS):
        follow_secrets(rt.cache, rt.remotes)
    machines_of = MachinesOf(rt.cache)
    made = Controller(
        "simulatedmachine",
        SIMULATED_MACHINES,
        SimulatedMachines(rt, tenants).reconcile,
        watches=[
            Watch(MACHINES, of_machine),
            Watch(CLUSTERS, OfCluster(machines_of)),
            Watch(TENANT_SECRETS, OfAuthority(machines_of)),
        ],
        workers=workers,
    )

    def came_up(cluster: Key) -> None:
        tenancy = tenants.tenancy(cluster)
        if tenancy is not None and tenancy.serving:
            rt.remotes.hurry(cluster)
        made.look_at(machines_of(cluster))

    tenants.subscribe(came_up)
    return made
