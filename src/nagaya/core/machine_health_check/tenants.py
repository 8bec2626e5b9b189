"""The tenants whose Nodes are checked: followed as soon as they can be talked to, and never waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from nagaya.clusters.node import NODES, Node
from nagaya.clusters.tenant_nodes import TenantNodes
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
        self._nodes = TenantNodes(remotes, _NAME, self._node_changed, self._look_at_all)
        self._connected: dict[Key, Remote] = {}
        remotes.subscribe(self._changed)

    def follow(self, cluster: Key) -> None:
        """Have the Nodes of a tenant followed, if it can be talked to. Again: no effect."""
        self._nodes.follow(cluster)

    def _changed(self, cluster: Key) -> None:
        """A tenant is connected, disconnected, or its probes tell something else, which does not matter here."""
        remote = self._remotes.get(cluster)
        if remote is None:
            self._nodes.forget(cluster)
            self._connected.pop(cluster, None)
        elif self._connected.get(cluster) is not remote:
            self._connected[cluster] = remote
            self._look_at_all(cluster)

    def _node_changed(self, cluster: Key, change: Change[Node]) -> None:
        # Until all are known, nothing is decided; then all checks are looked at anyway.
        remote = self._remotes.get(cluster)
        if remote is not None and remote.cache.is_synced(NODES):
            self._look_at(self._checks.of_node(cluster, change))

    def _look_at_all(self, cluster: Key) -> None:
        self._look_at(self._checks.in_cluster(cluster))
