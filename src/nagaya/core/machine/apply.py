"""The writes of a plan, in their order. Any may be the last: each leaves a state that the next plan goes on from.

The Machine comes first, because its finalizer must be there before anything depends on it. What goes wrong in the
tenant does not keep the Machine from telling its status.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, NamedTuple

import msgspec

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.core.machine.plan import Adoption, NodeChange, Plan
from nagaya.core.machine.seen import Seen
from nagaya.core.machine.tenant_node import NODES
from nagaya.kube.api import Api
from nagaya.kube.errors import ApiError, Invalid, NotFound
from nagaya.kube.patches import JsonPatch, Merge
from nagaya.kube.remote import Remote
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

TENANT_TIMEOUT: Final = 5.0
"""How long a tenant may take to answer a write, in seconds: one that hangs must not hold up the others' machines."""


class Applied(NamedTuple):
    """What became of a plan."""

    machine: Machine
    failure: Exception | None
    """Why the Node does not have what it should, if so."""


async def apply(rt: Runtime, api: Api, seen: Seen, plan: Plan) -> Applied | None:
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
        await _adopt(rt, api, adoption)
    failure: Exception | None = None
    if plan.node is not None and seen.remote is not None:
        log.info("machine %s: %s", seen.key, plan.node.sentence)
        try:
            await _change_node(seen.remote, plan.node)
        except (ApiError, NoAnswer, TimeoutError) as error:
            failure = error
    return Applied(machine, failure)


async def _adopt(rt: Runtime, api: Api, adoption: Adoption) -> None:
    """Take an object over.

    Its provider adds a finalizer at about the same time. A patch that only insists on the owners it read does not
    mind; one that insists on the whole object would be refused every other time.
    """
    kind, obj = adoption.kind, adoption.object
    metadata = obj.metadata
    try:
        answer = await rt.client.patch(kind, metadata.namespace, metadata.name, JsonPatch(_operations(adoption)))
    except NotFound:
        return  # the event about it is on its way
    except Invalid:
        # A test failed: somebody else changed the owners. Now it has to be the object as it was read.
        await api.metadata(kind, obj, labels=adoption.labels, owners=adoption.owners)
        return
    rt.cache.wrote(kind, answer)


def _operations(adoption: Adoption) -> list[dict[str, Any]]:
    obj = adoption.object
    owners, labels = obj.at("metadata", "ownerReferences"), obj.at("metadata", "labels")
    operations: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": obj.metadata.uid}]
    if not owners or not labels:
        # What is absent cannot be tested for being absent still.
        version = obj.metadata.resource_version
        operations.append({"op": "test", "path": "/metadata/resourceVersion", "value": version})
    if owners:
        operations.append({"op": "test", "path": "/metadata/ownerReferences", "value": owners})
    wanted = msgspec.to_builtins(adoption.owners)
    operations.append({"op": "add", "path": "/metadata/ownerReferences", "value": wanted})
    if not labels and adoption.labels:
        operations.append({"op": "add", "path": "/metadata/labels", "value": dict(adoption.labels)})
    elif adoption.labels:
        for name, value in adoption.labels.items():
            escaped = name.replace("~", "~0").replace("/", "~1")
            operations.append({"op": "add", "path": f"/metadata/labels/{escaped}", "value": value})
    return operations


async def _change_node(remote: Remote, change: NodeChange) -> None:
    metadata = change.node.metadata
    patch = Merge(change.content, metadata.resource_version if change.locked else None)
    async with asyncio.timeout(TENANT_TIMEOUT):
        answer = await remote.client.patch(NODES, "", metadata.name, patch)
    remote.cache.wrote(NODES, answer)
