"""The writes of a plan, in their order. Any may be the last: each leaves a state that the next plan goes on from.

The Machine comes first, because its finalizer must be there before anything depends on it. What goes wrong in the
tenant does not keep the Machine from telling its status.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final, NamedTuple

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.clusters.node import NODES
from nagaya.core.machine.plan import NodeChange, Plan
from nagaya.core.machine.seen import Seen
from nagaya.kube.api import Api
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.patches import Merge
from nagaya.kube.remote import Remote
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

TENANT_TIMEOUT: Final = 5.0
"""How long a tenant may take to answer a write, in seconds: one that hangs must not hold up the others' machines."""


class Applied(NamedTuple):
    """What became of a plan."""

    machine: Machine
    failure: Exception | None
    """Why the Node does not have what it should, if so."""


async def apply(api: Api, seen: Seen, plan: Plan) -> Applied | None:
    """Carry out a plan. Raises what the management API objects to. None if the Machine is gone."""
    machine = seen.machine
    if plan.machine is not None:
        log.info("machine %s: %s", seen.key, plan.machine.sentence)
        try:
            machine = await api.merge(MACHINES, machine, plan.machine.content, locked=plan.machine.locked)
        except NotFound:
            return None
    for adoption in plan.adoptions:
        log.info("machine %s: %s", seen.key, adoption.sentence)
        try:
            await api.metadata(adoption.kind, adoption.object, labels=adoption.labels, owners=adoption.owners)
        except NotFound:
            continue  # the event about it is on its way
    failure: Exception | None = None
    if plan.node is not None and seen.remote is not None:
        log.info("machine %s: %s", seen.key, plan.node.sentence)
        try:
            await _change_node(seen.remote, plan.node)
        except (ApiError, NoAnswer, TimeoutError) as error:
            failure = error
    return Applied(machine, failure)


async def _change_node(remote: Remote, change: NodeChange) -> None:
    metadata = change.node.metadata
    patch = Merge(change.content, metadata.resource_version if change.locked else None)
    async with asyncio.timeout(TENANT_TIMEOUT):
        answer = await remote.client.patch(NODES, "", metadata.name, patch)
    remote.cache.wrote(NODES, answer)
