"""The next step of a deletion, decided from what is seen and from what this reconcile has done already.

Pure. Steps are decided anew every time, from the beginning: a process that died in the middle, or a user who changed
their mind about hooks and time limits, needs no special case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final

import msgspec

from nagaya.api.cluster.annotations import (
    EXCLUDE_NODE_DRAINING,
    EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH,
    PRE_DRAIN_DELETE_HOOK_PREFIX,
    PRE_TERMINATE_DELETE_HOOK_PREFIX,
)
from nagaya.api.cluster.machine_conditions import MachineReason
from nagaya.api.cluster.machine_status import MachineDeletionStatus
from nagaya.clusters.external import Referenced
from nagaya.core.machine.deletion.drain.report import drain_started
from nagaya.core.machine.deletion.limits import exceeded
from nagaya.core.machine.deletion.node_access import node_access
from nagaya.core.machine.deletion.volumes.attached import detach_started
from nagaya.core.machine.seen import Seen

_SEE_LOG: Final = "Please check controller logs for errors"


class Action(Enum):
    """What a step does."""

    WAIT = auto()
    DRAIN = auto()
    DETACH = auto()
    DELETE_INFRASTRUCTURE = auto()
    DELETE_BOOTSTRAP = auto()
    DELETE_NODE = auto()
    LET_GO = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next, and what the condition Deleting says if it goes no further for now."""

    action: Action
    reason: MachineReason
    message: str
    started: MachineDeletionStatus
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """What this reconcile has achieved already, and when steps with a time limit began."""

    started: MachineDeletionStatus
    done: frozenset[Action] = frozenset()

    def after(self, step: Step) -> Progress:
        """The progress once a step is done."""
        return Progress(step.started, self.done | {step.action})


def plan(seen: Seen, progress: Progress) -> Step:
    """The next step; the first of these that is not done."""
    started, done = progress.started, progress.done
    annotations = seen.machine.metadata.annotations
    access = node_access(seen)
    if access.problem:
        return Step(Action.WAIT, MachineReason.INTERNAL_ERROR, _SEE_LOG, started, access.problem)
    if access.allowed:
        if hooks := _hooks(annotations, PRE_DRAIN_DELETE_HOOK_PREFIX):
            started = _begun(started, seen.now, "wait_for_pre_drain_hook_start_time")
            told = f"Waiting for pre-drain hooks to succeed (hooks: {hooks})"
            return Step(Action.WAIT, MachineReason.WAITING_FOR_PRE_DRAIN_HOOK, told, started)
        if _unusable(seen.infrastructure):
            # Whether there is still a host to take care of cannot be told.
            return _wait_for_infrastructure(seen, started)
        if Action.DRAIN not in done and may_drain(seen, started):
            started = _begun(started, seen.now, "node_drain_start_time")
            told = drain_started(started.node_drain_start_time or seen.now)
            return Step(Action.DRAIN, MachineReason.DRAINING_NODE, told, started)
        if Action.DETACH not in done and may_wait_for_volumes(seen, started):
            started = _begun(started, seen.now, "wait_for_node_volume_detach_start_time")
            told = detach_started(started.wait_for_node_volume_detach_start_time or seen.now)
            return Step(Action.DETACH, MachineReason.WAITING_FOR_VOLUME_DETACH, told, started)
    if hooks := _hooks(annotations, PRE_TERMINATE_DELETE_HOOK_PREFIX):
        started = _begun(started, seen.now, "wait_for_pre_terminate_hook_start_time")
        told = f"Waiting for pre-terminate hooks to succeed (hooks: {hooks})"
        return Step(Action.WAIT, MachineReason.WAITING_FOR_PRE_TERMINATE_HOOK, told, started)
    if Action.DELETE_INFRASTRUCTURE not in done:
        if _unusable(seen.infrastructure):
            return _wait_for_infrastructure(seen, started)
        return _delete(Action.DELETE_INFRASTRUCTURE, seen.infrastructure, started)
    if Action.DELETE_BOOTSTRAP not in done and seen.bootstrap is not None:
        if _unusable(seen.bootstrap):
            told = f"Waiting for {seen.bootstrap.reference.kind} to be deleted: {seen.bootstrap.problem}"
            return Step(Action.WAIT, MachineReason.WAITING_FOR_BOOTSTRAP_DELETION, told, started)
        return _delete(Action.DELETE_BOOTSTRAP, seen.bootstrap, started)
    if access.allowed and Action.DELETE_NODE not in done:
        told = "Error deleting Node, please check controller logs for errors"
        return Step(Action.DELETE_NODE, MachineReason.DELETING_NODE, told, started)
    return Step(Action.LET_GO, MachineReason.DELETION_COMPLETED, "Deletion completed", started)


def may_drain(seen: Seen, started: MachineDeletionStatus) -> bool:
    """Whether the Node is drained: not once the host is going, out of time, or when the user does not want it."""
    limit = seen.machine.spec.deletion.node_drain_timeout_seconds
    return (
        EXCLUDE_NODE_DRAINING not in seen.machine.metadata.annotations
        and _host_stands(seen, started)
        and not exceeded(started.node_drain_start_time, limit, seen.now)
    )


def may_wait_for_volumes(seen: Seen, started: MachineDeletionStatus) -> bool:
    """Whether volumes are waited for: by the same rules."""
    limit = seen.machine.spec.deletion.node_volume_detach_timeout_seconds
    return (
        EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH not in seen.machine.metadata.annotations
        and _host_stands(seen, started)
        and not exceeded(started.wait_for_node_volume_detach_start_time, limit, seen.now)
    )


def _host_stands(seen: Seen, started: MachineDeletionStatus) -> bool:
    """Whether nobody has begun to take the host down: those who own pre-terminate hooks do so."""
    infrastructure = seen.infrastructure
    return (
        started.wait_for_pre_terminate_hook_start_time is None
        and infrastructure.provider is not None
        and not infrastructure.deleting
    )


def _delete(action: Action, what: Referenced[Any], started: MachineDeletionStatus) -> Step:
    reason = (
        MachineReason.WAITING_FOR_INFRASTRUCTURE_DELETION
        if action is Action.DELETE_INFRASTRUCTURE
        else MachineReason.WAITING_FOR_BOOTSTRAP_DELETION
    )
    return Step(action, reason, f"Waiting for {what.reference.kind} to be deleted", started)


def _wait_for_infrastructure(seen: Seen, started: MachineDeletionStatus) -> Step:
    told = f"Waiting for {seen.infrastructure.reference.kind} to be deleted: {seen.infrastructure.problem}"
    return Step(Action.WAIT, MachineReason.WAITING_FOR_INFRASTRUCTURE_DELETION, told, started)


def _unusable(what: Referenced[Any]) -> bool:
    """Whether an object may exist and cannot be looked at. Nothing is forgotten that may exist."""
    return what.provider is None and not what.missing


def _hooks(annotations: Mapping[str, str], prefix: str) -> str:
    return ",".join(sorted(each for each in annotations if each.startswith(prefix)))


def _begun(started: MachineDeletionStatus, now: datetime, step: str) -> MachineDeletionStatus:
    if getattr(started, step) is not None:
        return started
    return msgspec.structs.replace(started, **{step: now.replace(microsecond=0)})
