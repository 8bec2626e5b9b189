"""The keepers of all tenants of this process: one for each connection, gone when the connection is.

A connection is replaced whenever credentials change or the tenant was away. What a keeper knows was seen over its own
connection, so it goes with it, and the next one starts by looking.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nagaya.controlplane.hosted.tenant.keeper import Keeper
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote, Remotes
from nagaya.world import World


class Keepers:
    """One keeper for each tenant that is connected."""

    def __init__(self, remotes: Remotes, world: World, changed: Callable[[Key], None]) -> None:
        """`changed` is called with the key of a tenant's Cluster when there is something to do about its objects."""
        self._remotes = remotes
        self._world = world
        self._changed = changed
        self._keepers: dict[Key, tuple[Remote, Keeper]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._unsubscribe = remotes.subscribe(self._look)

    def of(self, remote: Remote) -> Keeper:
        """The keeper of a tenant over the connection that it has now."""
        key = remote.key
        known = self._keepers.get(key)
        if known is not None and known[0] is remote:
            return known[1]
        self._let_go(key)
        keeper = Keeper(str(key), remote.client, self._world, lambda: self._changed(key))
        self._keepers[key] = (remote, keeper)
        return keeper

    async def close(self) -> None:
        """Keep nothing any more."""
        self._unsubscribe()
        for key in [*self._keepers]:
            self._let_go(key)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _look(self, key: Key) -> None:
        known = self._keepers.get(key)
        if known is not None and self._remotes.get(key) is not known[0]:
            self._let_go(key)

    def _let_go(self, key: Key) -> None:
        known = self._keepers.pop(key, None)
        if known is None:
            return
        task = asyncio.get_running_loop().create_task(known[1].close(), name=f"end of set-up of {key}")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
