"""The MachineSet controller: as many machines as wanted, all from one template.

Each look at a set reads everything from the cache, plans, acts, looks again and tells. Because every write is seen by
the cache at once, the second look includes what was just made, and the status is written once. What always holds: a
set that is paused is only told that it is; one that is deleted keeps its finalizer until its last machine is gone;
and nothing is made or deleted on the word of a cache that has not been filled yet.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet, MachineSetStatus
from nagaya.api.cluster.pause import why_paused
from nagaya.clusters.external import keep, listed
from nagaya.clusters.pause import status_while_paused
from nagaya.core.machine_set.apply import TELLER, Apply
from nagaya.core.machine_set.plan import plan
from nagaya.core.machine_set.preflight import ALL
from nagaya.core.machine_set.propagation import fingerprint
from nagaya.core.machine_set.provider_objects import provider_kinds
from nagaya.core.machine_set.seen import Seen, observe
from nagaya.core.machine_set.status import CONDITIONS, DETAILS_WAIT, FIELDS, news, seconds_until_news, status
from nagaya.core.machine_set.watches import SetsOfControlPlane, SetsOfTemplate, add_indexes, watches
from nagaya.kube.controller import SETTLE, Controller, Result
from nagaya.kube.errors import ApiError, Conflict, Forbidden
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)


class MachineSets:
    """Looks after MachineSets."""

    def __init__(self, rt: Runtime, checks: Collection[str]) -> None:
        self._rt = rt
        self._checks = frozenset(checks)
        self._api = rt.api(TELLER)
        self._apply = Apply(rt)
        self._said: dict[Key, int] = {}  # what machines were last brought in line with, as a fingerprint
        add_indexes(rt.cache)
        self.controller = Controller(
            "machineset", MACHINE_SETS, self.reconcile, watches=watches(rt.cache), settle=SETTLE
        )

    async def reconcile(self, key: Key) -> Result | None:
        """Look at one set."""
        if (found := self._rt.cache.get(MACHINE_SETS, key)) is not None:
            await self._follow_providers(found)
        machine_set = self._rt.cache.get(MACHINE_SETS, key)  # it may have changed meanwhile
        if machine_set is None:
            self._said.pop(key, None)
            return None
        seen = self._see(machine_set)
        if why := why_paused(seen.cluster, machine_set, MACHINE_SETS.kind):
            paused = status_while_paused(machine_set, why, seen.now)
            await self._api.status(MACHINE_SETS, machine_set, paused, conditions=CONDITIONS, fields=FIELDS)
            return None
        if seen.cluster is None and not machine_set.metadata.deleting:
            log.info("MachineSet %s waits for its Cluster %s", key, machine_set.spec.cluster_name)
            return None
        if seen.selector_problem:
            log.error("MachineSet %s has a selector that selects nothing: %s", key, seen.selector_problem)
        planned = plan(seen, self._checks)
        failure: ApiError | None = None
        generation = machine_set.metadata.generation
        # Until all is done it is unknown what the machines are in line with.
        self._said.pop(key, None)
        try:
            generation = await self._apply.all(seen, planned)
            self._said[key] = fingerprint(machine_set)
        except Conflict:
            raise  # somebody else wrote first; what is seen here is old
        except ApiError as error:
            failure = error
        after = self._look_again(seen) if planned.steps else seen
        tell_after: float | None = None
        if after is not None:
            complete = planned.complete and failure is None
            told = status(after, (*planned.on_hold, *_refusal(failure)), generation, complete=complete)
            tell_after = await self._tell(after.machine_set, told)
        if failure is not None:
            raise failure
        return None if after is None else Result(seconds_until_news(after), tell_after)

    def _see(self, machine_set: MachineSet) -> Seen:
        """Look. The set is settled if this process, or another before it, was through with what it says now."""
        settled = machine_set.status.observed_generation == machine_set.metadata.generation
        settled = settled or self._said.get(Key.of(machine_set)) == fingerprint(machine_set)
        return observe(self._rt, machine_set, settled=settled)

    async def _tell(self, machine_set: MachineSet, told: MachineSetStatus) -> float | None:
        """Tell what is news. Returns after how many seconds the rest is to be told."""
        return await self._api.news(
            MACHINE_SETS, machine_set, told, news(told), conditions=CONDITIONS, fields=FIELDS, wait=DETAILS_WAIT
        )

    def _look_again(self, before: Seen) -> Seen | None:
        """The set as it is now. None if it is gone, or another one has its name."""
        found = self._rt.cache.get(MACHINE_SETS, Key.of(before.machine_set))
        if found is None or found.metadata.uid != before.machine_set.metadata.uid:
            return None
        return self._see(found)

    async def _follow_providers(self, machine_set: MachineSet) -> None:
        """Have the kinds of providers in the cache: an empty one would look as if nothing existed."""
        rt = self._rt
        kinds = provider_kinds(rt, machine_set)
        for kind in kinds.templates:
            self.controller.watch(kind, SetsOfTemplate(rt.cache, kind))
        if kinds.control_plane is not None:
            self.controller.watch(kinds.control_plane, SetsOfControlPlane(rt.cache))
        keep(rt.cache, kinds.all)
        # A set that goes needs nothing of providers: one that does not answer must not hold it.
        if not machine_set.metadata.deleting:
            await listed(rt.cache, kinds.all)


def _refusal(failure: ApiError | None) -> tuple[str, ...]:
    """Why no Machine can be created, such as an exhausted quota. Other failures pass, or are reported by their objects.

    The name of the Machine is left out: each attempt has a new one, and the same refusal must not be written again.
    """
    if not isinstance(failure, Forbidden):
        return ()
    _, _, reason = failure.message.partition(" is forbidden: ")
    return (f"the API refuses new objects: {reason or failure.message}",)


def controller(rt: Runtime, *, preflight_checks: Collection[str] = (ALL,)) -> Controller:
    """The controller, to be run by a manager. `preflight_checks` names those that are made; none is allowed, too."""
    return MachineSets(rt, preflight_checks).controller
