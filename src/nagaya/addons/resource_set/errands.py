"""Errands to clusters: each is done in a task of its own, so that a cluster that hangs delays no other.

Whoever sends one waits a moment for it. An errand that takes longer goes on, is not sent again meanwhile, and when it
is back the set is looked at once more. What always holds: what was brought is on record before an errand is over, and
a record is changed by one errand at a time, so that sets that share a cluster do not get in each other's way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.addons.resource_set.binding import new_binding, only_of, recorded, without
from nagaya.addons.resource_set.plan import Errand, Load
from nagaya.addons.resource_set.tenant import NotBrought, Tenant
from nagaya.api.addons.cluster_resource_set import ClusterResourceSet
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS, ResourceBinding
from nagaya.api.conversion.manifests import ManifestError
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote
from nagaya.kube.runtime import Runtime

MANAGER: Final = "nagaya-clusterresourceset"
PATIENCE: Final = 5.0
"""How long a look at a set waits for its errands, in seconds."""
TIMEOUT: Final = 60.0
"""How long an errand may take, in seconds."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What came of the errands of a set."""

    problems: tuple[Exception, ...]
    under_way: int


class Errands:
    """All errands of this process."""

    def __init__(self, rt: Runtime, look_at: Callable[[Iterable[Key]], None]) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._look_at = look_at
        self._tasks: dict[tuple[Key, Key], asyncio.Task[list[NotBrought]]] = {}
        self._records: dict[Key, asyncio.Lock] = {}

    async def send(self, resource_set: ClusterResourceSet, errands: Iterable[Errand]) -> Returned:
        """Send those that are not under way, and wait a moment for all. What is over since the last time counts only
        if it is not sent again."""
        key = Key.of(resource_set)
        outcomes = self._collect(key)
        for errand in errands:
            place = (key, errand.site.key)
            outcomes.pop(place, None)
            if place not in self._tasks:
                name = f"resources of {key} for {errand.site.key}"
                self._tasks[place] = asyncio.create_task(self._run(resource_set, errand), name=name)
        mine = [task for place, task in self._tasks.items() if place[0] == key]
        if mine:
            await asyncio.wait(mine, timeout=PATIENCE)
        outcomes |= self._collect(key)
        late = [task for place, task in self._tasks.items() if place[0] == key]
        for task in late:
            task.add_done_callback(lambda _: self._look_at((key,)))
        return Returned(tuple(problem for each in outcomes.values() for problem in each), len(late))

    def _collect(self, key: Key) -> dict[tuple[Key, Key], list[Exception]]:
        """What went wrong on the errands of a set that are over. They are forgotten."""
        outcomes: dict[tuple[Key, Key], list[Exception]] = {}
        for place, task in [*self._tasks.items()]:
            if place[0] != key or not task.done():
                continue
            del self._tasks[place]
            try:
                outcomes[place] = [*task.result()]
            except Exception as error:
                outcomes[place] = [error]
        return outcomes

    async def retract(self, resource_set: ClusterResourceSet) -> None:
        """Remove a set from all records. What it brought stays where it is."""
        await self.abandon(Key.of(resource_set))
        for each in self._rt.cache.list(CLUSTER_RESOURCE_SET_BINDINGS, resource_set.metadata.namespace):
            async with self._record(Key.of(each)):
                await self._retract(resource_set, Key.of(each))

    async def abandon(self, key: Key) -> None:
        """Call off all errands of a set."""
        await self._call_off([place for place in self._tasks if place[0] == key])

    async def close(self) -> None:
        """Call off all errands. What was brought and is not on record is brought again by whoever comes next."""
        await self._call_off([*self._tasks])

    async def _call_off(self, places: Iterable[tuple[Key, Key]]) -> None:
        tasks = [self._tasks.pop(place) for place in places]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _retract(self, resource_set: ClusterResourceSet, key: Key) -> None:
        found = self._rt.cache.get(CLUSTER_RESOURCE_SET_BINDINGS, key)
        change = None if found is None else without(found, resource_set)
        if found is None or change is None:
            return
        if only_of(found, resource_set):
            await self._api.delete(CLUSTER_RESOURCE_SET_BINDINGS, found)
        else:
            await self._api.merge(CLUSTER_RESOURCE_SET_BINDINGS, found, change, locked=True)

    async def _run(self, resource_set: ClusterResourceSet, errand: Errand) -> list[NotBrought]:
        remote = self._rt.remotes.get(errand.site.key)
        brought: list[ResourceBinding] = []
        problems: list[NotBrought] = []
        if errand.loads and remote is None:
            problems.append(NotBrought(f"Cluster {errand.site.key}: it cannot be reached any more"))
        elif errand.loads and remote is not None:
            brought, problems = await self._bring(remote, errand)
        async with self._record(errand.site.key):
            await self._write(resource_set, errand.site.key, brought)
        return problems

    async def _bring(self, remote: Remote, errand: Errand) -> tuple[list[ResourceBinding], list[NotBrought]]:
        tenant = Tenant(remote.client)
        brought: list[ResourceBinding] = []
        problems: list[NotBrought] = []
        try:
            async with asyncio.timeout(TIMEOUT):
                for load in errand.loads:
                    found, hash = await _deliver(tenant, load, errand.update)
                    brought.append(self._note(load, hash, not found))
                    problems += (NotBrought(f"Cluster {errand.site.key}: {each}") for each in found)
        except TimeoutError:
            problems.append(NotBrought(f"Cluster {errand.site.key}: not done within {TIMEOUT:g} s"))
        return brought, problems

    def _note(self, load: Load, hash: str, applied: bool) -> ResourceBinding:
        return ResourceBinding(
            name=load.reference.name,
            kind=load.reference.kind,
            hash=hash,
            last_applied_time=self._rt.world.clock.now().replace(microsecond=0),
            applied=applied,
        )

    async def _write(self, resource_set: ClusterResourceSet, key: Key, brought: Sequence[ResourceBinding]) -> None:
        found = self._rt.cache.get(CLUSTER_RESOURCE_SET_BINDINGS, key)
        if found is None:
            content = new_binding(key, resource_set, brought)
            await self._api.create(CLUSTER_RESOURCE_SET_BINDINGS, content)
            return
        change = recorded(found, resource_set, brought)
        if change is not None:
            await self._api.merge(CLUSTER_RESOURCE_SET_BINDINGS, found, change, locked=True)

    def _record(self, key: Key) -> asyncio.Lock:
        return self._records.setdefault(key, asyncio.Lock())

    def forget(self, cluster: Key) -> None:
        """A cluster is gone."""
        lock = self._records.get(cluster)
        if lock is not None and not lock.locked():
            del self._records[cluster]


async def _deliver(tenant: Tenant, load: Load, update: bool) -> tuple[list[Exception], str]:
    """What went wrong, and the hash of what was brought: none of what cannot be read."""
    try:
        objects = load.content.objects
    except ManifestError as error:
        return [error], ""
    return [*await tenant.bring(objects, update=update)], load.content.hash
