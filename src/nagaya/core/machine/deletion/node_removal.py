"""Deleting the Node of a machine whose host is gone."""

from __future__ import annotations

from typing import Final

from nagaya.clusters.node import NODES
from nagaya.core.machine.deletion.tenant import own_node, patiently, reachable
from nagaya.core.machine.seen import Seen
from nagaya.kube.api import Api

TRIED_FOR: Final = 10.0
"""Seconds that the deletion of a Node is tried for, whatever the time limit of the machine."""
TRY_AGAIN: Final = 2.0
_ONE_TRY: Final = 5.0


async def remove_node(seen: Seen, manager: str) -> None:
    """Delete the Node, if it is still there and still this machine's. Raises TenantFailed."""
    remote = reachable(seen, probed=False)  # there is little time, so a doubtful tenant is tried as well
    node = own_node(seen, remote)
    if node is None:
        return
    async with patiently(f"error deleting node {node.metadata.name}", _ONE_TRY):
        await Api(remote.client, remote.cache, manager).delete(NODES, node)
