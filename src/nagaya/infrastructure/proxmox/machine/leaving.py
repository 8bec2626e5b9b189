"""Machines that go: their VM first, then their boot data and addresses, and the reservation of the VMID last. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxMachineCondition
from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.life import DEFAULT_STOP_SECONDS, RELEASE
from nagaya.api.proxmox.proxmox_machine import FINALIZER, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import ProxmoxVirtualMachinePhase
from nagaya.infrastructure.proxmox.client import TaskState
from nagaya.infrastructure.proxmox.machine.adoption import adopting, needs_adoption, needs_marker, taking_over
from nagaya.infrastructure.proxmox.machine.health import healthy
from nagaya.infrastructure.proxmox.machine.memory import pause
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import (
    GiveUpReservation,
    LeaveToReaper,
    Plan,
    ReleaseClaims,
    Remove,
    Said,
)
from nagaya.infrastructure.proxmox.machine.waiting import clone_is_late
from nagaya.infrastructure.proxmox.virtual_machine import removal
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence
from nagaya.kube.conditions import get, is_true

_UNTIL_THEN: Final = (
    "Only if it never comes back, and the data on its disks (etcd, of a control plane machine) can be given up: "
    "deletionPolicy: Release lets the machine go without waiting for it."
)
ASKED_AGAIN: Final = 120.0
"""Seconds after which the HA manager is asked once more to stop a VM."""


def leaving(seen: Seen) -> Plan:
    """The next step of a machine that goes."""
    machine, objects = seen.machine, seen.objects
    if FINALIZER not in machine.metadata.finalizers:
        return replace(_goes(seen, Reason.DELETING, ""), silent=True)
    found = seen.found
    if objects.reservation is None and not _has_own(seen):
        return _last(seen)
    if seen.link is None or found is None:
        told = _goes(
            seen, Reason.DELETION_FAILED, f"{seen.no_link} The VM is destroyed when Proxmox VE can be asked again."
        )
        return replace(told, again_after=removal.HOST_AGAIN)
    later = seen.retry_after
    if later is not None and _has_failed(machine):
        return replace(_goes(seen, "", ""), keep=True, again_after=(later - seen.now).total_seconds())
    if found.presence is Presence.OURS and (objects.reservation is None or needs_marker(seen)):
        first = adopting(seen) if objects.reservation is None else taking_over(seen)
        why = f"VM {objects.vmid} on {found.node} gets the marker of this management API."
        return replace(_goes(seen, Reason.DELETING, why), step=first.step, again_after=first.again_after)
    timeouts = machine.spec.timeouts
    grace = timeouts.stop_seconds if timeouts is not None and timeouts.stop_seconds else DEFAULT_STOP_SECONDS
    if seen.task is not None and seen.task.ended and _is_over(seen, seen.task):
        seen = replace(seen, task=None)
    next_step = removal.removal(objects.vmid or 0, found, seen.task, seen.leftovers, grace)
    if found.presence is Presence.HIDDEN and not machine.spec.provider_id:
        next_step = replace(next_step, message=f"{next_step.message} {removal.UNFINISHED}")
    return _step(seen, next_step)


def _is_over(seen: Seen, task: TaskState) -> bool:
    """Whether a task that has ended is no matter any more: how a start ended, and a wish that nobody has fulfilled."""
    took = seen.now.timestamp() - task.upid.started
    return task.upid.type in ("qmstart", "hastart") or (task.upid.type == removal.HA_STOP and took > ASKED_AGAIN)


def _step(seen: Seen, made: removal.Removal) -> Plan:
    told = _goes(seen, made.reason, made.message)
    step = made.step
    if isinstance(step, removal.Gone):
        return _last(seen)
    if isinstance(step, removal.GiveUp):
        return replace(told, step=GiveUpReservation(made.message))
    if isinstance(step, removal.Wait):
        if step.remains:
            return _last(seen, made.message)
        if step.host_off:
            if _policy(seen) == RELEASE:
                return _leave_behind(seen, f"{made.message} The machine goes now, as its deletionPolicy says.")
            told = _goes(seen, made.reason, f"{made.message} {_UNTIL_THEN}")
        if step.unfinished and clone_is_late(seen):
            return _leave_behind(seen, made.message)
        if step.failed:
            return failed(seen, made.message)
        runs = seen.task is not None and not seen.task.ended
        known = is_true(seen.machine.status.conditions, ProxmoxMachineCondition.DELETING)
        return replace(told, again_after=step.again_after, keep=runs and known)
    return replace(told, step=Remove(step))


def _leave_behind(seen: Seen, why: str) -> Plan:
    """The machine goes before its VM has: the reservation of the VMID stays, and the reaper sees to the rest."""
    assert seen.found is not None
    released = _goes(seen, Reason.RELEASED, f"{why} The reservation of its VMID stays.")
    reservation = seen.objects.reservation
    if reservation is not None and reservation.status.phase == ProxmoxVirtualMachinePhase.ORPHANED:
        return replace(released, release=True)
    return replace(released, step=LeaveToReaper(seen.found.node))


def failed(seen: Seen, message: str) -> Plan:
    """Something went wrong on the way: it is tried again."""
    rest = pause(seen.failures if _has_failed(seen.machine) else 0)
    due = seen.now + timedelta(seconds=rest)
    told = _goes(seen, Reason.DELETION_FAILED, message)
    return replace(told, retry_after=due, again_after=rest, failed=True, clear_task=True)


def _has_failed(machine: ProxmoxMachine) -> bool:
    """Whether its way out has failed before. That it could not be made, however often, is no reason to wait."""
    found = get(machine.status.conditions, ProxmoxMachineCondition.DELETING)
    return found is not None and found.reason == Reason.DELETION_FAILED


def _last(seen: Seen, remains: str = "") -> Plan:
    """The VM is gone, or there never was one. What may remain of its boot data where nobody can look keeps the
    reservation and not the machine: the reaper sees to it."""
    told = _goes(seen, Reason.DELETING, "The VM is gone.")
    if any(not each.metadata.deleting for each in seen.objects.claims.values()):
        return replace(told, step=ReleaseClaims())
    if remains and seen.objects.reservation is not None:
        return _leave_behind(seen, remains)
    if seen.objects.reservation is not None:
        return replace(told, step=GiveUpReservation(""))
    return replace(told, release=True)


def _has_own(seen: Seen) -> bool:
    """Whether there may be a VM that no reservation tells of."""
    absent = seen.found is not None and seen.found.presence in (Presence.ABSENT, Presence.FOREIGN)
    return needs_adoption(seen) and bool(seen.machine.spec.provider_id) and not absent


def _policy(seen: Seen) -> str | None:
    shared = seen.objects.infrastructure.spec.deletion_policy if seen.objects.infrastructure is not None else None
    return seen.machine.spec.deletion_policy or shared


def _goes(seen: Seen, reason: str, message: str) -> Plan:
    said = Said(True, reason, message)
    made = Said(False, Reason.DELETING, message)
    return Plan(
        made,
        healthy(seen),
        said,
        provisioned=seen.provisioned,
        node=seen.found.node if seen.found is not None else seen.machine.status.proxmox_node,
    )
