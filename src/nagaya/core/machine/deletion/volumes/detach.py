"""One look at the volumes of a Node."""

from __future__ import annotations

import logging

from nagaya.core.machine.deletion.drain.reading import judged_pods
from nagaya.core.machine.deletion.tenant import TenantFailed, own_node, patiently, reachable
from nagaya.core.machine.deletion.volumes.attached import Attached, attached, claims_of_pods_that_stay
from nagaya.core.machine.deletion.volumes.objects import PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS
from nagaya.core.machine.seen import Seen
from nagaya.kube.client import Client

log = logging.getLogger(__name__)


async def still_attached(seen: Seen) -> Attached:
    """The volumes that have to be detached before the machine goes. Raises TenantFailed."""
    remote = reachable(seen)
    node = own_node(seen, remote)
    if node is None:
        log.info("Machine %s: its Node is not there any more, so no volume is waited for", seen.key)
        return Attached()
    if node.unreachable:
        log.info("Machine %s: its Node is unreachable and cannot detach volumes, so none is waited for", seen.key)
        return Attached()
    name = node.metadata.name
    client = remote.client
    async with patiently("failed to look for attached volumes"):
        told_by_node = frozenset(each.name for each in node.status.volumes_attached)
        told_by_attachments = await _attachments(client, name)
        if not told_by_node and not told_by_attachments:
            return Attached()
        ignored = claims_of_pods_that_stay(await judged_pods(client, seen, name, unreachable=False))
        volumes = (await client.list(PERSISTENT_VOLUMES)).items
    return attached(told_by_node, told_by_attachments, volumes, ignored)


async def _attachments(client: Client, node: str) -> frozenset[str]:
    """The names of the volumes that are attached to a Node. There is no selector for that."""
    names: set[str] = set()
    for each in (await client.list(VOLUME_ATTACHMENTS)).items:
        if not each.status.attached or each.spec.node_name != node:
            continue
        volume = each.spec.source.persistent_volume_name
        if volume is None:
            told = f"spec.source.persistentVolumeName for VolumeAttachment {each.metadata.name} is not set"
            raise TenantFailed(told)
        names.add(volume)
    return frozenset(names)
