"""The Machine controller, put together.

One reconcile observes everything about a machine, plans, carries the plan out and tells the status, in that order. It
works on one machine only and writes to nothing but the Machine, the two objects it refers to, and its Node.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import FINALIZER, MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.cluster.machine_drain_rule import MACHINE_DRAIN_RULES
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.cluster.machine_status import MachineStatus
from nagaya.api.cluster.pause import why_paused
from nagaya.clusters.external import listed, served
from nagaya.clusters.finalizer import release
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine.apply import apply
from nagaya.core.machine.deletion.apply import Deletion
from nagaya.core.machine.deletion_outcome import DeletionOutcome
from nagaya.core.machine.plan import Plan, plan
from nagaya.core.machine.seen import Seen, Settings, observe
from nagaya.core.machine.status import FIELDS, news, owned_conditions, status
from nagaya.core.machine.tenants import Tenants
from nagaya.core.machine.which import Machines
from nagaya.kube.contract_kinds import DEFINITIONS
from nagaya.kube.controller import SETTLE, Controller, Result, Watch
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

WORKERS: Final = 50
"""Many: a drain in a tenant that hangs holds one for up to 20 s."""
MANAGER: Final = "nagaya-machine"

Delete = Callable[[Runtime, Seen], Awaitable[DeletionOutcome]]
"""One look at the deletion of a machine: goes as far as it can without waiting, and tells how far that is."""


class Unfinished(Exception):
    """A machine cannot become what it is to be for now. Its status says so, too."""


def controller(rt: Runtime, settings: Settings | None = None, delete: Delete | None = None) -> Controller:
    """The controller, ready to be run. `delete` is called for machines that are to go, in place of the usual way."""
    return _Machine(rt, delete or Deletion(), settings or Settings()).controller


class _Machine:
    def __init__(self, rt: Runtime, delete: Delete, settings: Settings) -> None:
        self._rt = rt
        self._delete = delete
        self._settings = settings
        self._api = rt.api(MANAGER)
        self._machines = machines = Machines(rt.cache)
        self.controller = Controller(
            "machine",
            MACHINES,
            self.reconcile,
            watches=(
                Watch(CLUSTERS, machines.of_cluster),
                Watch(MACHINE_SETS, machines.of_machine_set),
                Watch(MACHINE_DEPLOYMENTS, machines.of_machine_deployment),
                Watch(MACHINE_DRAIN_RULES, machines.of_drain_rule),
                Watch(DEFINITIONS, machines.of_definition),
            ),
            workers=WORKERS,
            settle=SETTLE,
        )
        self._tenants = Tenants(rt.remotes, machines, self.controller.look_at)

    async def reconcile(self, key: Key) -> Result | None:
        """Bring one machine closer to what it is to be."""
        machine = self._rt.cache.get(MACHINES, key)
        if machine is None:
            return None
        cluster = self._rt.cache.get(CLUSTERS, Key(key.namespace, machine.spec.cluster_name))
        if cluster is None:
            log.info("machine %s: Waiting for Cluster %s to exist.", key, machine.spec.cluster_name)
            return None
        if why := why_paused(cluster, machine, MACHINES.kind):
            now = self._rt.world.clock.now()
            paused = status_while_paused(machine, why, now)
            await self._api.status(MACHINES, machine, paused, conditions=owned_conditions(machine), fields=FIELDS)
            return None
        await self._follow(machine, cluster)
        seen = observe(self._rt, machine, cluster, self._settings)
        return await self._act(seen, plan(seen))

    async def _act(self, seen: Seen, planned: Plan) -> Result | None:
        for sentence in planned.waits:
            log.debug("machine %s: %s", seen.key, sentence)
        for problem in planned.problems:
            log.warning("machine %s: %s", seen.key, problem)
        applied = await apply(self._api, seen, planned)
        if applied is None:
            return None
        machine, failure = applied
        going = await self._delete(self._rt, seen) if seen.deleting else None
        completed = going is not None and going.completed
        if completed and {*machine.metadata.finalizers} <= {FINALIZER}:
            await self._let_go(machine)
            return None
        complete = not planned.problems and failure is None and (going is None or not going.problem)
        told = status(seen, planned, machine, going, complete)
        tell_after = await self._tell(machine, told.status)
        for event in planned.events:
            self._rt.recorder.record(MACHINES, machine, event.type, event.reason, event.note)
        if completed:
            await self._let_go(machine)
            return None
        if failure is not None:
            raise failure
        if going is not None and going.problem:
            raise Unfinished(going.problem)
        waits = (told.again_after, None if going is None else going.requeue_after)
        return Result(min((each for each in waits if each is not None), default=None), tell_after)

    async def _let_go(self, machine: Machine) -> None:
        """Nothing is left of the machine but the object, which goes unless somebody else holds it."""
        log.info("machine %s: Nothing is left of it, so it is let go.", Key.of(machine))
        await release(self._rt, self._api, MACHINES, machine, FINALIZER)

    async def _tell(self, machine: Machine, wanted: MachineStatus) -> float | None:
        """Tell what is news. Returns after how many seconds the rest is to be told."""
        owned = owned_conditions(machine)
        return await self._api.news(MACHINES, machine, wanted, news(machine), conditions=owned, fields=FIELDS)

    async def _follow(self, machine: Machine, cluster: Cluster) -> None:
        """Have the kinds of the machine's providers and the tenant's Nodes in caches."""
        rt = self._rt
        self._tenants.follow(Key.of(cluster))
        own = [machine.spec.bootstrap.config_ref, machine.spec.infrastructure_ref]
        others = [cluster.spec.control_plane_ref] if machine.metadata.deleting else []
        kinds = []
        for reference in (*own, *others):
            kind = None if reference is None else served(rt.kinds, reference.api_group, reference.kind)
            if kind is None:
                continue
            if reference in own:
                self.controller.watch(kind, self._machines.of_provider)
            kinds.append(kind)
        await listed(rt.cache, kinds)
