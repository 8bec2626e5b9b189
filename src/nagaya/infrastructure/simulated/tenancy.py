"""One simulated cluster in this process: where its API is, the tenant once it runs, and the machines in it.

What always holds: changes happen one after another; the API is reachable exactly if a control plane machine runs and
nobody ordered otherwise. The tenant itself outlives its last control plane machine, with everything in it, until the
cluster is deleted: that is kinder than a real control plane without its disks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nagaya.kube.key import Key
from nagaya.simulators.tenant.door import Way
from nagaya.simulators.tenant.settings import Fault, NodeSettings, TenantSettings
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World

_WELL: Final[frozenset[Fault]] = frozenset()


@dataclass(slots=True)
class _Member:
    """A machine that has joined."""

    uid: str
    control_plane: bool
    faults: frozenset[Fault] = _WELL


class Tenancy:
    """One cluster, from the moment its address is known."""

    def __init__(self, key: Key, url: str, came_up: Callable[[Key], None]) -> None:
        self.key = key
        self.url = url
        self.tenant: Tenant | None = None
        self._came_up = came_up
        self._members: dict[str, _Member] = {}
        self._ordered = Way.OPEN
        self._way = Way.OPEN
        self._ended = False
        self._lock = asyncio.Lock()

    @property
    def serving(self) -> bool:
        """Whether the API answers."""
        return self.tenant is not None and self._way is Way.OPEN

    def joined(self, name: str, uid: str) -> bool:
        """Whether the machine of a uid has joined under a name."""
        member = self._members.get(name)
        return member is not None and member.uid == uid

    async def start(self, settings: TenantSettings, world: World) -> None:
        """Have the API run. Raises OSError if its port cannot be had, LookupError if the cluster has been deleted."""
        async with self._lock:
            if self._ended:
                raise LookupError(f"the simulated cluster {self.key} has been deleted")
            if self.tenant is None:
                self.tenant = await Tenant.start(settings, world)

    async def join(self, uid: str, node: NodeSettings, *, returns: bool = False) -> None:
        """A machine comes up. Its Node is made once: one that somebody deletes later does not come back by itself.
        Raises JoinRefused and JoinDelayed, as the tenant does."""
        async with self._lock:
            assert self.tenant is not None, f"cluster {self.key} has no API to join"
            if self.joined(node.name, uid):
                return
            await self.tenant.join(node, returns=returns)
            self._members[node.name] = _Member(uid, node.control_plane)
            await self._turn(started=node.control_plane)

    async def leave(self, name: str, uid: str) -> None:
        """A machine is gone for good."""
        async with self._lock:
            if self.tenant is None or not self.joined(name, uid):
                return
            await self.tenant.leave(name)
            del self._members[name]
            await self._turn()

    def afflict(self, name: str, uid: str, faults: frozenset[Fault]) -> None:
        """Have a machine suffer from these faults and no others."""
        if self.tenant is None or not self.joined(name, uid):
            return
        member = self._members[name]
        for fault in sorted(member.faults - faults, key=lambda each: each.name):
            self.tenant.recover(name, fault)
        for fault in sorted(faults - member.faults, key=lambda each: each.name):
            self.tenant.fail(name, fault)
        member.faults = faults

    async def order(self, way: Way) -> None:
        """Decide how clients of the API fare. Raises OSError if it is to answer and its port was taken meanwhile."""
        async with self._lock:
            self._ordered = way
            await self._turn()

    async def stop(self) -> None:
        """End everything; nothing is left."""
        async with self._lock:
            self._ended = True
            tenant, self.tenant = self.tenant, None
            self._members.clear()
            if tenant is not None:
                await tenant.stop()

    async def _turn(self, *, started: bool = False) -> None:
        if self.tenant is None:
            return
        way = self._ordered
        if way is Way.OPEN and not any(each.control_plane for each in self._members.values()):
            way = Way.REFUSING
        if way is not self._way:
            if way is Way.REFUSING:
                await self.tenant.refuse()
            else:
                await self.tenant.recover_api()
                if way is Way.HANGING:
                    self.tenant.hang()
            self._way = way
            started = True
        if started and way is Way.OPEN:
            self._came_up(self.key)
