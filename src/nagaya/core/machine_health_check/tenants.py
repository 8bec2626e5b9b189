"""The tenants whose Nodes are checked: followed as soon as they can be talked to, and never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from nagaya.core.machine.tenant_node import NODES, Node
from nagaya.core.machine_health_check.watches import Checks
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote, Remotes

_NAME: Final = "machinehealthcheck"


class Tenants:
    """Tells which checks to look at because of what happens in their clusters."""

    def __init__(self, remotes: Remotes, checks: Checks, look_at: Callable[[Iterable[Key]], None]) -> None:
        self._remotes = remotes
        self._checks = checks
        self._look_at = look_at
        self._listing: dict[Key, tuple[Remote, asyncio.Task[None]]] = {}
        self._known: dict[Key, Remote] = {}
        remotes.subscribe(self._changed)

    def follow(self, cluster: Key) -> None:
        """Have the Nodes of a tenant followed, if it can be talked to. Again: no effect."""
        remote = self._remotes.get(cluster)
        if remote is None:
            return

        def changed(change: Change[Node]) -> None:
            # Until all are known, nothing is decided; then all checks are looked at anyway.
            if remote.cache.is_synced(NODES):
                self._look_at(self._checks.of_node(cluster, change))

        remote.watch(_NAME, NODES, changed)
        listing = self._listing.get(cluster)
        if remote.cache.is_synced(NODES) or (listing is not None and listing[0] is remote):
            return
        self._forget(cluster)
        task = asyncio.get_running_loop().create_task(self._listed(cluster, remote), name=f"nodes of {cluster}")
        self._listing[cluster] = (remote, task)

    def _changed(self, cluster: Key) -> None:
        """A tenant is connected, disconnected, or its probes tell something else, which does not matter here."""
        remote = self._remotes.get(cluster)
        if remote is None:
            self._forget(cluster)
            self._known.pop(cluster, None)
        elif self._known.get(cluster) is not remote:
            self._known[cluster] = remote
            self._look_at(self._checks.in_cluster(cluster))

    async def _listed(self, cluster: Key, remote: Remote) -> None:
        await remote.cache.synced(NODES)
        self._listing.pop(cluster, None)
        self._look_at(self._checks.in_cluster(cluster))

    def _forget(self, cluster: Key) -> None:
        listing = self._listing.pop(cluster, None)
        if listing is not None:
            listing[1].cancel()
