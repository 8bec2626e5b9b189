"""One go at draining a Node."""

from __future__ import annotations

import logging
from typing import Final

from nagaya.clusters.node import NODES, Node
from nagaya.core.machine.deletion.drain.evictions import evict
from nagaya.core.machine.deletion.drain.reading import judged_pods
from nagaya.core.machine.deletion.drain.report import Report
from nagaya.core.machine.deletion.drain.turns import turns
from nagaya.core.machine.deletion.tenant import own_node, patiently, reachable
from nagaya.core.machine.seen import Seen
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge
from nagaya.kube.remote import Remote

log = logging.getLogger(__name__)

GRACE_ON_UNREACHABLE_NODE: Final = 1
"""Seconds that pods of a silent kubelet get to end. They cannot use them, and nobody waits for longer than that."""


async def drain(seen: Seen) -> Report:
    """Cordon the Node, evict the pods whose turn it is, and tell what is left. Raises TenantFailed."""
    remote = reachable(seen)
    node = own_node(seen, remote)
    if node is None:
        log.info("Machine %s: its Node is not there any more, so there is nothing to drain", seen.key)
        return Report()
    name = node.metadata.name
    # A kubelet that is silent never confirms that a pod has ended, so pods that shall go are not waited for.
    unreachable = node.unreachable
    async with patiently(f"failed to drain Node {name}"):
        if not await _cordon(remote, node):
            return Report()
        verdicts = await judged_pods(remote.client, seen, name, unreachable=unreachable)
    for verdict in verdicts:
        if verdict.note:
            log.debug("Machine %s: Pod %s %s: %s", seen.key, verdict.key, verdict.fate.value, verdict.note)
    if not any(each.blocks for each in verdicts):
        return Report()
    grace_period = GRACE_ON_UNREACHABLE_NODE if unreachable else None
    return await evict(remote.client, turns(verdicts), grace_period, seen.now)


async def _cordon(remote: Remote, node: Node) -> bool:
    """Let nothing new be scheduled there. False if the Node is gone."""
    if node.spec.unschedulable:
        return True
    try:
        made = await remote.client.patch(NODES, "", node.metadata.name, Merge({"spec": {"unschedulable": True}}))
    except NotFound:
        return False
    remote.cache.wrote(NODES, made)
    log.info("Node %s of %s is cordoned", node.metadata.name, remote.key)
    return True
