"""The tenants that machines belong to: their Nodes are followed, and their silence is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from nagaya.clusters.node import Node
from nagaya.clusters.tenant_nodes import TenantNodes
from nagaya.core.machine.which import Machines
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.remote import Remotes

_NAME: Final = "machine"


class Tenants:
    """Tells which machines to look at because of what happens in their clusters."""

    def __init__(self, remotes: Remotes, machines: Machines, look_at: Callable[[Iterable[Key]], None]) -> None:
        self._remotes = remotes
        self._machines = machines
        self._look_at = look_at
        self._nodes = TenantNodes(remotes, _NAME, self._node_changed, self._look_at_all)
        remotes.subscribe(self._changed)

    def follow(self, cluster: Key) -> None:
        """Have the Nodes of a tenant followed, if it can be talked to. Again: no effect."""
        self._nodes.follow(cluster)

    def _changed(self, cluster: Key) -> None:
        if self._remotes.get(cluster) is None:
            self._nodes.forget(cluster)
        self._look_at_all(cluster)

    def _node_changed(self, cluster: Key, change: Change[Node]) -> None:
        self._look_at(self._machines.of_node(cluster, change))

    def _look_at_all(self, cluster: Key) -> None:
        self._look_at(self._machines.in_cluster(cluster))
