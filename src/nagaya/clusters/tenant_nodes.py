"""The Nodes of tenants, followed as soon as a tenant can be talked to.

Nobody waits for a tenant. Its Nodes are asked for in the background, and whoever depends on them is told when all are
known: an object whose Node is gone gets no event about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nagaya.clusters.node import BY_PROVIDER_ID, NODES, Node, provider_ids
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote, Remotes


class TenantNodes:
    """Follows Nodes on behalf of one controller."""

    def __init__(
        self,
        remotes: Remotes,
        name: str,
        changed: Callable[[Key, Change[Node]], None],
        known: Callable[[Key], None],
    ) -> None:
        """`name` is the controller's. `changed` hears of each Node, `known` that all of a cluster are there."""
        self._remotes = remotes
        self._name = name
        self._node_changed = changed
        self._known = known
        self._listing: dict[Key, tuple[Remote, asyncio.Task[None]]] = {}

    def follow(self, cluster: Key) -> None:
        """Have the Nodes of a tenant followed, if it can be talked to. Again: no effect."""
        remote = self._remotes.get(cluster)
        if remote is None:
            return

        def changed(change: Change[Node]) -> None:
            self._node_changed(cluster, change)

        remote.watch(self._name, NODES, changed)
        remote.cache.add_index(NODES, BY_PROVIDER_ID, provider_ids)
        listing = self._listing.get(cluster)
        if remote.cache.is_synced(NODES) or (listing is not None and listing[0] is remote):
            return
        self.forget(cluster)
        task = asyncio.get_running_loop().create_task(self._listed(cluster, remote), name=f"nodes of {cluster}")
        self._listing[cluster] = (remote, task)

    def forget(self, cluster: Key) -> None:
        """Wait no longer for the Nodes of a tenant that is gone."""
        listing = self._listing.pop(cluster, None)
        if listing is not None:
            listing[1].cancel()

    async def _listed(self, cluster: Key, remote: Remote) -> None:
        await remote.cache.synced(NODES)
        self._listing.pop(cluster, None)
        self._known(cluster)
