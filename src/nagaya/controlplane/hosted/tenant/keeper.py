"""Keeps one tenant's objects as they shall be, for as long as one connection to it lasts.

The objects are watched, by their label, in a cache of the keeper's own: the tenant's other cache is for kinds that are
followed whole, and one kind cannot be followed in two ways. So nothing is asked and nothing is sent when all is as it
shall be; and what somebody changes or deletes, its label included, is told by an event (`changed`) and put right by
the next `ensure`. What always holds: nothing is ever waited for except answers to our own calls; one object that is
refused keeps no other from being applied; only objects with our label and one of our names are removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.tenant.kinds import ALL, MANAGED_BY, NAGAYA, Manifest
from nagaya.controlplane.hosted.tenant.objects import Place, objects, switched_off
from nagaya.controlplane.hosted.tenant.plan import Settled, Step, Verb, difference, plan, step_for, with_kept
from nagaya.controlplane.hosted.tenant.setup import TenantSetup
from nagaya.kube.api import Api
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.key import Key
from nagaya.kube.transport import NoAnswer
from nagaya.world import World

log = logging.getLogger(__name__)

FIELD_MANAGER: Final = "nagaya-hostedcontrolplane"
SELECTOR: Final = f"{MANAGED_BY}={NAGAYA}"
_AT_ONCE: Final = 8
"""How many writes are under way at a time: a control plane that has just started is slow enough."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a tenant is set up after one `ensure`."""

    done: tuple[str, ...] = ()
    """What was done, a sentence each."""
    problems: tuple[str, ...] = ()
    """What the tenant refused, a sentence each."""
    waiting: str = ""
    """Why nothing could be compared yet; `changed` is called when it can."""

    @property
    def complete(self) -> bool:
        """Whether the tenant holds everything."""
        return not self.problems and not self.waiting


class Keeper:
    """One tenant, over one connection."""

    def __init__(self, name: str, client: Client, world: World, changed: Callable[[], None]) -> None:
        """`changed` is called, from the event loop, when `ensure` would have something to do. `name` is for the log."""
        self._name = name
        self._client = client
        self._cache = Cache(client, world)
        self._api = Api(client, self._cache, FIELD_MANAGER)
        self._changed = changed
        self._setup: TenantSetup | None = None
        self._wanted: dict[Place, Manifest] = {}
        self._off: frozenset[Place] = frozenset()
        self._settled: dict[Place, Settled] = {}
        self._listing: asyncio.Task[None] | None = None

    async def ensure(self, setup: TenantSetup) -> Outcome:
        """Apply what is missing or different, and remove what was switched off. Raises ValueError if the setup itself
        makes no sense."""
        if setup != self._setup:
            # Rendered first: if that fails, what was kept before is still kept.
            wanted = {(each.kind, each.key): each for each in objects(setup)}
            self._wanted, self._off, self._setup = wanted, switched_off(setup), setup
        if not all(self._cache.is_synced(kind) for kind in ALL):
            self._follow()
            problems = self._cache.unfollowed()
            return Outcome(waiting=problems[0] if problems else "The tenant's objects have not been listed yet.")
        steps = plan([*self._wanted.values()], self.held, self._off, self._settled)
        return await self._carry_out(steps)

    async def synced(self) -> None:
        """Wait until `ensure` can compare. For those who have nothing else to do."""
        self._follow()
        await self._cache.synced()

    async def close(self) -> None:
        """Follow nothing any more."""
        if self._listing is not None:
            self._listing.cancel()
            await asyncio.gather(self._listing, return_exceptions=True)
        await self._cache.close()

    def _follow(self) -> None:
        if self._listing is not None:
            return
        for kind in ALL:
            self._cache.start(kind, labels=SELECTOR, transform=_without_status)
            self._cache.subscribe(kind, partial(self._saw, kind))
        self._listing = asyncio.get_running_loop().create_task(self._tell_when_listed(), name=f"{self._name} set-up")

    async def _tell_when_listed(self) -> None:
        await self._cache.synced()
        self._changed()

    def _saw(self, kind: Kind[Untyped], change: Change[Untyped]) -> None:
        """Tell of a change only if there is something to do about it: our own writes, too, come by here."""
        obj = change.new or change.old
        if obj is None or not all(self._cache.is_synced(each) for each in ALL):
            return
        place = (kind, Key.of(obj))
        wanted = self._wanted.get(place)
        if wanted is not None:
            due = step_for(wanted, change.new, self._settled) is not None
        else:
            due = change.new is not None and place in self._off
        if due:
            self._changed()

    @property
    def held(self) -> dict[Place, Untyped]:
        """The objects with our label that the tenant has, as far as is known."""
        known = [kind for kind in ALL if self._cache.has(kind)]
        return {(kind, Key.of(obj)): obj for kind in known for obj in self._cache.list(kind)}

    async def _carry_out(self, steps: Sequence[Step]) -> Outcome:
        done: list[str] = []
        problems: list[str] = []
        doors = asyncio.Semaphore(_AT_ONCE)

        async def one(step: Step) -> None:
            async with doors:
                try:
                    await self._do(step)
                except (ApiError, NoAnswer) as error:
                    problems.append(f"Cannot {step.verb.value} {step.place[0].kind} {step.place[1]}: {error}")
                else:
                    log.info("tenant %s: %s", self._name, step)
                    done.append(str(step))

        async with asyncio.TaskGroup() as group:
            for step in steps:
                group.create_task(one(step))
        return Outcome(tuple(done), tuple(problems))

    async def _do(self, step: Step) -> None:
        kind, _ = step.place
        if step.verb is not Verb.APPLY and step.held is not None:
            await self._api.delete(kind, step.held, propagation="Background")
        if step.content is None:
            return
        content = step.content if step.held is not None else await self._adopting(step.place, step.content)
        answer = await self._api.apply(kind, content)
        if difference(content, answer.raw) is None:
            self._settled.pop(step.place, None)
        else:
            self._settled[step.place] = Settled.after(content, _without_status(answer))

    async def _adopting(self, place: Place, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content of an object that we do not see. It may be there without our label, with a field to be kept."""
        wanted, (kind, key) = self._wanted[place], place
        if not wanted.kept:
            return content
        try:
            return with_kept(wanted, await self._client.get(kind, key.namespace, key.name))
        except NotFound:
            return content


def _without_status(obj: Untyped) -> Untyped:
    """Nothing here depends on how a workload is doing, and statuses are most of what changes."""
    raw: dict[str, Any] = {name: value for name, value in obj.raw.items() if name != "status"}
    return Untyped(raw)
