"""The tenants that machines belong to: their Nodes are followed, and their silence is noticed.

Nobody waits for a tenant. As soon as one can be talked to its Nodes are asked for; when all of them are known, all
machines of the cluster are looked at, because a machine whose Node is gone gets no event about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from nagaya.core.machine.tenant_node import BY_PROVIDER_ID, NODES, Node, provider_ids
from nagaya.core.machine.which import Machines
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote, Remotes

_NAME: Final = "machine"


class Tenants:
    """Tells which machines to look at because of what happens in their clusters."""

    def __init__(self, remotes: Remotes, machines: Machines, look_at: Callable[[Iterable[Key]], None]) -> None:
        self._remotes = remotes
        self._machines = machines
        self._look_at = look_at
        self._listing: dict[Key, tuple[Remote, asyncio.Task[None]]] = {}
        remotes.subscribe(self._changed)

    def follow(self, cluster: Key) -> None:
        """Have the Nodes of a tenant followed, if it can be talked to. Again: no effect."""
        remote = self._remotes.get(cluster)
        if remote is None:
            return

        def changed(change: Change[Node]) -> None:
            self._look_at(self._machines.of_node(cluster, change))

        remote.watch(_NAME, NODES, changed)
        remote.cache.add_index(NODES, BY_PROVIDER_ID, provider_ids)
        listing = self._listing.get(cluster)
        if remote.cache.is_synced(NODES) or (listing is not None and listing[0] is remote):
            return
        self._forget(cluster)
        task = asyncio.get_running_loop().create_task(self._listed(cluster, remote), name=f"nodes of {cluster}")
        self._listing[cluster] = (remote, task)

    def _changed(self, cluster: Key) -> None:
        if self._remotes.get(cluster) is None:
            self._forget(cluster)
        self._look_at(self._machines.in_cluster(cluster))

    async def _listed(self, cluster: Key, remote: Remote) -> None:
        await remote.cache.synced(NODES)
        self._listing.pop(cluster, None)
        self._look_at(self._machines.in_cluster(cluster))

    def _forget(self, cluster: Key) -> None:
        listing = self._listing.pop(cluster, None)
        if listing is not None:
            listing[1].cancel()
