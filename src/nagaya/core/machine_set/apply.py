"""What a plan says, done: one call per step, in order. Any of them may be the last.

Deletions and creations of machines do not wait for each other, within bounds; everything else goes one by one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Final

import msgspec

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_set import FINALIZER, MACHINE_SETS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.field_ownership import metadata_change
from nagaya.clusters.finalizer import release
from nagaya.core.machine_set.creation import Creation
from nagaya.core.machine_set.plan import Plan
from nagaya.core.machine_set.propagation import MANAGER, METADATA_MANAGER
from nagaya.core.machine_set.seen import Seen
from nagaya.core.machine_set.steps import (
    Adopt,
    Claim,
    Create,
    Delete,
    Discard,
    OwnTemplate,
    Release,
    Remark,
    Step,
    SyncDeleting,
    SyncMachine,
    SyncObject,
)
from nagaya.kube.conditions import remove_condition, set_condition
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)

TELLER: Final = "nagaya-machineset"
"""The field manager of what the controller tells, of sets and of machines."""
AT_ONCE: Final = 16
"""Calls of one set that may be under way at the same time."""


class Apply:
    """Carries out plans for MachineSets."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._api = rt.api(MANAGER)
        self._metadata_api = rt.api(METADATA_MANAGER)
        self._teller = rt.api(TELLER)

    async def all(self, seen: Seen, plan: Plan) -> int:
        """Do everything. Returns the generation of the set that it was done for: changing the set makes a new one."""
        generation = seen.machine_set.metadata.generation
        deletions: list[Delete] = []
        for step in plan.steps:
            if isinstance(step, Delete):
                deletions.append(step)
                continue
            if deletions:
                await self._delete_all(seen, deletions)
                deletions = []
            if isinstance(step, Claim):
                claimed = await self._api.merge(MACHINE_SETS, seen.machine_set, step.content, locked=True)
                generation = claimed.metadata.generation
            elif isinstance(step, Discard):
                if not await self._discard(seen, step):
                    return generation
            else:
                await self._one(seen, step)
        await self._delete_all(seen, deletions)
        return generation

    async def _one(self, seen: Seen, step: Step) -> None:
        machine_set = seen.machine_set
        log.debug("MachineSet %s: %s", Key.of(machine_set), step.why)
        match step:
            case OwnTemplate(template=template):
                assert template.kind is not None
                assert template.object is not None
                await self._api.metadata(template.kind, template.object, owners=step.owners)
            case Adopt():
                await self._adopt(seen, step)
            case Remark():
                await self._remark(seen, step)
            case SyncMachine():
                await self._api.apply(MACHINES, step.content)
            case SyncDeleting():
                await self._sync_deleting(step)
            case SyncObject():
                await self._sync_object(seen, step)
            case Create():
                await self._create(seen, step)
            case Release():
                await release(self._rt, self._api, MACHINE_SETS, machine_set, FINALIZER)

    async def _create(self, seen: Seen, step: Create) -> None:
        try:
            await Creation(self._rt, self._api, seen).machines(step.count)
        except ApiError as error:
            note = f"Failed to create a Machine: {error.message}"
            self._rt.recorder.warning(MACHINE_SETS, seen.machine_set, "FailedCreate", note)
            raise

    async def _delete_all(self, seen: Seen, deletions: Iterable[Delete]) -> None:
        await bounded(self._delete(seen, each) for each in deletions)

    async def _delete(self, seen: Seen, step: Delete) -> None:
        await self._api.delete(MACHINES, step.machine)
        log.info("MachineSet %s: %s", Key.of(seen.machine_set), step.why)
        if step.announced:
            note = f'Deleted Machine "{step.machine.metadata.name}"'
            self._rt.recorder.normal(MACHINE_SETS, seen.machine_set, "SuccessfulDelete", note)

    async def _adopt(self, seen: Seen, step: Adopt) -> None:
        try:
            await self._api.metadata(MACHINES, step.machine, owners=step.owners)
        except ApiError as error:
            note = f'Failed to adopt Machine "{step.machine.metadata.name}": {error.message}'
            self._rt.recorder.warning(MACHINE_SETS, seen.machine_set, "FailedAdopt", note)
            raise
        log.info("MachineSet %s: %s", Key.of(seen.machine_set), step.why)
        self._rt.recorder.normal(MACHINE_SETS, seen.machine_set, "SuccessfulAdopt", step.why)

    async def _remark(self, seen: Seen, step: Remark) -> None:
        machine, told = step.machine, (MachineCondition.OWNER_REMEDIATED,)
        before = machine.status.conditions
        if step.condition is None:
            after = remove_condition(before, MachineCondition.OWNER_REMEDIATED)
        else:
            after = set_condition(before, step.condition, now=seen.now, generation=machine.metadata.generation)
        if after is not before:
            content = {"conditions": msgspec.to_builtins(after)}
            await self._teller.status(MACHINES, machine, content, conditions=told)

    async def _sync_deleting(self, step: SyncDeleting) -> None:
        try:
            await self._api.merge(MACHINES, step.machine, step.content)
        except NotFound:
            log.debug("Machine %s is gone already", Key.of(step.machine))

    async def _sync_object(self, seen: Seen, step: SyncObject) -> None:
        kind, obj = step.made.kind, step.made.object
        try:
            metadata = await self._managed_metadata(kind, obj)
        except NotFound:
            return
        if metadata.get("uid") != obj.metadata.uid:
            return
        template = next((each.object for each in seen.templates if each.made == kind), None)
        change = metadata_change(metadata, step.wanted, template, manager=MANAGER, metadata_manager=METADATA_MANAGER)
        if change is None:
            return
        if change.move is not None:
            now = Untyped({**obj.raw, "metadata": metadata})
            await self._api.merge(kind, now, {"metadata": change.move}, locked=True)
        place = {"namespace": obj.metadata.namespace, "name": obj.metadata.name, "uid": obj.metadata.uid}
        await self._metadata_api.apply(kind, {"metadata": {**place, **change.apply}})
        log.info("MachineSet %s: %s", Key.of(seen.machine_set), step.why)

    async def _managed_metadata(self, kind: Kind[Untyped], obj: Untyped) -> dict[str, object]:
        """The metadata with managedFields, which the cache does without."""
        path = kind.path(obj.metadata.namespace, obj.metadata.name)
        answer = await self._rt.client.raw("GET", path)
        content = msgspec.json.decode(answer.body, type=dict[str, object])
        metadata = content.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    async def _discard(self, seen: Seen, step: Discard) -> bool:
        """Returns False if its machine, which has the same name, is there after all: then the plan is not worth much,
        and the news of the machine brings the set back."""
        obj = step.made.object
        try:
            machine: Machine = await self._rt.client.get(MACHINES, obj.metadata.namespace, obj.metadata.name)
        except NotFound:
            await self._api.delete(step.made.kind, obj)
            log.info("MachineSet %s: %s It is deleted.", Key.of(seen.machine_set), step.why)
            return True
        self._rt.cache.wrote(MACHINES, machine)
        return False


async def bounded(calls: Iterable[Awaitable[None]]) -> None:
    """Await calls, so many at a time. All are tried; raises the first error then."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(call: Awaitable[None]) -> None:
        async with gate:
            await call

    results = await asyncio.gather(*map(one, calls), return_exceptions=True)
    errors = [each for each in results if isinstance(each, BaseException)]
    for error in errors[1:]:
        log.warning("one of several calls failed: %s", error)
    if errors:
        raise errors[0]
