"""The steps of a deletion, carried out one after the other until one has to wait.

Each step may be the last that this process does: the next look decides anew what is left.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_conditions import MachineReason
from nagaya.api.cluster.machine_status import NodeReference
from nagaya.clusters.external import Referenced
from nagaya.core.machine.deletion.drain.drain import drain
from nagaya.core.machine.deletion.limits import exceeded, left, soonest
from nagaya.core.machine.deletion.memory import Memories, Memory, Wait, circumstances
from nagaya.core.machine.deletion.node_access import node_access, node_name
from nagaya.core.machine.deletion.node_removal import TRIED_FOR, TRY_AGAIN, remove_node
from nagaya.core.machine.deletion.pace import jittered, pause, until_end
from nagaya.core.machine.deletion.plan import Action, Progress, Step, plan
from nagaya.core.machine.deletion.tenant import TenantFailed, TenantSilent
from nagaya.core.machine.deletion.volumes.detach import still_attached
from nagaya.core.machine.deletion_outcome import DeletionOutcome
from nagaya.core.machine.seen import Seen
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import NoAnswer

log = logging.getLogger(__name__)

MANAGER: Final = "nagaya-machine"
SILENT_RETRY: Final = 20.0
"""Seconds until a tenant that cannot be reached is asked again."""
TENANT_RETRY: Final = 5.0
"""Seconds until a tenant that failed is asked again."""

_ASKS_TENANT: Final = (Action.DRAIN, Action.DETACH)

Carried = DeletionOutcome | None
"""None if the step is done; else what the deletion waits for."""


class Deletion:
    """Deletes machines. One for all of them: it remembers a little about each."""

    def __init__(self) -> None:
        self._memories = Memories()

    async def __call__(self, rt: Runtime, seen: Seen) -> DeletionOutcome:
        """Take a deletion as far as it goes for now."""
        if why_not := node_access(seen).why_not:
            log.debug("machine %s: Its Node is neither drained nor deleted: %s.", seen.key, why_not)
        memory = self._memories.of(seen)
        progress = Progress(seen.machine.status.deletion)
        while True:
            step = plan(seen, progress)
            if step.action is Action.LET_GO:
                self._memories.forget(seen)
                return replace(_outcome(seen, step), completed=True)
            if step.action is Action.WAIT:
                return _outcome(seen, step)
            if step.action in _ASKS_TENANT and memory.entered is None:
                memory.entered = circumstances(seen, step.action)
                if (still := _still_waiting(rt, memory)) is not None:
                    return still
            waiting = await _DO[step.action](rt, seen, step, memory)
            if waiting is not None:
                return waiting
            progress = progress.after(step)


async def _drain(rt: Runtime, seen: Seen, step: Step, memory: Memory) -> Carried:
    node = node_name(seen)
    rest = left(step.started.node_drain_start_time, seen.machine.spec.deletion.node_drain_timeout_seconds, seen.now)
    try:
        report = await drain(seen)
    except TenantFailed as error:
        told = f'error draining Machine\'s node "{node}": {error}'
        rt.recorder.warning(MACHINES, seen.machine, "FailedDrainNode", told)
        return _failed(seen, step, error, "Error draining Node, please check controller logs for errors", rest)
    if report.drained:
        log.info("machine %s: Node %s is drained.", seen.key, node)
        rt.recorder.normal(MACHINES, seen.machine, "SuccessfulDrainNode", f'success draining Machine\'s node "{node}"')
        return None
    message = report.message(step.started.node_drain_start_time or seen.now)
    log.info("machine %s: %s", seen.key, message.replace("\n", " "))
    # Pods that were just asked to leave mostly do so soon, and let the next ones go.
    again = soonest(_pace(rt, memory, step, progress=report.evicted), until_end(report.ends, seen.now))
    return _wait(rt, seen, replace(step, message=message), memory, soonest(again, rest))


async def _detach(rt: Runtime, seen: Seen, step: Step, memory: Memory) -> Carried:
    node, begun = node_name(seen), step.started.wait_for_node_volume_detach_start_time
    rest = left(begun, seen.machine.spec.deletion.node_volume_detach_timeout_seconds, seen.now)
    try:
        volumes = await still_attached(seen)
    except TenantFailed as error:
        told = f'error waiting for node volumes detaching, Machine\'s node "{node}": {error}'
        rt.recorder.warning(MACHINES, seen.machine, "FailedWaitForVolumeDetach", told)
        message = "Error waiting for volumes to be detached from Node, please check controller logs for errors"
        return _failed(seen, step, error, message, rest)
    if not volumes:
        told = f'success waiting for node volumes detaching Machine\'s node "{node}"'
        rt.recorder.normal(MACHINES, seen.machine, "NodeVolumesDetached", told)
        return None
    message = volumes.message(begun or seen.now)
    log.info("machine %s: %s", seen.key, message.replace("\n", " "))
    return _wait(rt, seen, replace(step, message=message), memory, soonest(_pace(rt, memory, step), rest))


async def _delete_infrastructure(rt: Runtime, seen: Seen, step: Step, memory: Memory) -> Carried:
    return await _delete(rt, seen, step, memory, seen.infrastructure)


async def _delete_bootstrap(rt: Runtime, seen: Seen, step: Step, memory: Memory) -> Carried:
    return None if seen.bootstrap is None else await _delete(rt, seen, step, memory, seen.bootstrap)


async def _delete(rt: Runtime, seen: Seen, step: Step, memory: Memory, what: Referenced[Any]) -> Carried:
    """Delete an object of a provider. Done when it is gone, which is often at once."""
    if what.deleting:
        return _outcome(seen, step)
    try:
        gone = await _delete_object(rt, seen, what, certain=step.action in memory.met)
    except (ApiError, NoAnswer) as error:
        told = f"Failed to delete {what.reference.kind}, please check controller logs for errors"
        reason = MachineReason.INTERNAL_ERROR
        return replace(_outcome(seen, step), reason=reason, message=told, problem=str(error))
    return None if gone else _outcome(seen, step)


async def _delete_object(rt: Runtime, seen: Seen, what: Referenced[Any], *, certain: bool) -> bool:
    """Whether an object is gone for certain."""
    if what.provider is not None and what.kind is not None:
        log.info("machine %s: %s is deleted.", seen.key, what.provider.title)
        return await rt.api(MANAGER).delete(what.kind, what.provider.object) is None
    if certain or what.kind is None:
        return True
    # It was never seen: perhaps the event about its creation is still under way. What is forgotten now stays for ever.
    try:
        found = await rt.client.get(what.kind, seen.machine.metadata.namespace, what.reference.name)
    except NotFound:
        return True
    rt.cache.wrote(what.kind, found)
    return False


async def _delete_node(rt: Runtime, seen: Seen, step: Step, memory: Memory) -> Carried:
    now = rt.world.clock.monotonic()
    try:
        await remove_node(seen, MANAGER)
    except TenantFailed as error:
        log.warning("machine %s: %s", seen.key, error)
        begun = memory.node_tried = now if memory.node_tried is None else memory.node_tried
        if now - begun < TRIED_FOR:
            return replace(_outcome(seen, step), requeue_after=TRY_AGAIN)
        rt.recorder.warning(MACHINES, seen.machine, "FailedDeleteNode", f"error deleting Machine's Node: {error}")
        limit = seen.machine.spec.deletion.node_deletion_timeout_seconds
        due = seen.machine.metadata.deletion_timestamp
        if not exceeded(due, limit, seen.now):
            again = soonest(TRIED_FOR, left(due, limit, seen.now))
            return replace(_outcome(seen, step), requeue_after=again)
        log.info("machine %s: The time to delete its Node is over, so it goes without.", seen.key)
        return None
    log.info("machine %s: Node %s is deleted.", seen.key, node_name(seen))
    return None


_DO: Final[dict[Action, Callable[[Runtime, Seen, Step, Memory], Awaitable[Carried]]]] = {
    Action.DRAIN: _drain,
    Action.DETACH: _detach,
    Action.DELETE_INFRASTRUCTURE: _delete_infrastructure,
    Action.DELETE_BOOTSTRAP: _delete_bootstrap,
    Action.DELETE_NODE: _delete_node,
}


def _outcome(seen: Seen, step: Step) -> DeletionOutcome:
    """What is told if a deletion stops at a step."""
    name = node_name(seen)
    found = NodeReference(name=name) if name and seen.machine.status.node_ref is None else None
    return DeletionOutcome(step.reason, step.message, step.started, node_ref=found, problem=step.problem)


def _failed(seen: Seen, step: Step, error: TenantFailed, message: str, rest: float | None) -> DeletionOutcome:
    log.warning("machine %s: %s", seen.key, error)
    # A tenant that comes back tells so itself; the limit of the step is all there is to look at until then.
    again = SILENT_RETRY if isinstance(error, TenantSilent) else TENANT_RETRY
    return replace(_outcome(seen, replace(step, message=message)), requeue_after=soonest(again, rest))


def _pace(rt: Runtime, memory: Memory, step: Step, *, progress: bool = False) -> float:
    """How long to wait after this look."""
    chosen = memory.pauses[step.action] = pause(memory.pauses.get(step.action), progress=progress)
    return jittered(chosen, rt.world.random.random)


def _wait(rt: Runtime, seen: Seen, step: Step, memory: Memory, seconds: float) -> DeletionOutcome:
    outcome = replace(_outcome(seen, step), requeue_after=seconds)
    until = rt.world.clock.monotonic() + seconds
    memory.wait = Wait(until, outcome, memory.entered)
    return outcome


def _still_waiting(rt: Runtime, memory: Memory) -> DeletionOutcome | None:
    """What was told at the last look at the tenant, if that was a moment ago: our own writes bring us back at once."""
    wait = memory.wait
    if wait is None:
        return None
    if wait.circumstances != memory.entered:
        memory.pauses.clear()
        return None
    rest = wait.until - rt.world.clock.monotonic()
    return replace(wait.outcome, requeue_after=rest) if rest > 0 else None
