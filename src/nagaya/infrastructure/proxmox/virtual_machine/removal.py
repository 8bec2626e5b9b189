"""How a VM is taken away: what comes next, from what is found. Pure.

The order: a task that runs is waited for; a VM that runs is stopped; one that is stopped is destroyed with all its
disks; then what is left on storages under its VMID is removed; only then is it gone. Nothing is done to a VM that is
not ours in name, marker and pool. One that the HA manager looks after is taken from it before it is stopped: else it
would be started again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.infrastructure.proxmox.client import Phase, TaskState
from nagaya.infrastructure.proxmox.virtual_machine.found import NO_STRAYS, Found, Presence

LOOK_AGAIN: Final = 5.0
"""Seconds until a VM is looked for again where no task tells: while it moves, or is locked by others."""
HOST_AGAIN: Final = 15.0
"""Seconds until a host that is off is looked at again. It is one question to the cluster, not to the host."""
TASK_AGAIN: Final = 30.0
"""Seconds until a task is looked at again though its end is told: its host may have gone off, which nothing tells."""
UNFINISHED: Final = (
    "If no clone runs any more it was killed, and nothing in it says whose it is. If `qm config` on the host shows an "
    "unfinished clone (lock: clone) and not another VM, `qm unlock` and `qm destroy --purge` remove it and its disks."
)
HA_STOP: Final = "hastop"
"""The task that asks the HA manager to stop a VM. It has ended before the VM has."""
_LOG_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Stop:
    """Turn the VM off; after so many seconds in which it may shut down by itself."""

    node: str
    grace: int = 0


@dataclass(frozen=True, slots=True)
class Destroy:
    """Destroy the VM with its disks."""

    node: str


@dataclass(frozen=True, slots=True)
class RemoveVolume:
    """Remove something from a storage that a VM has left there."""

    node: str
    volume: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now."""

    again_after: float | None = None
    """None: something tells."""
    host_off: bool = False
    failed: bool = False
    """Whether something went wrong, so that longer and longer pauses are made."""
    unfinished: bool = False
    """Whether a clone is waited for."""
    remains: bool = False
    """Whether the VM is gone, and only its boot data may be left where nobody can look."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The VMID is somebody else's: there is nothing of ours to remove."""


@dataclass(frozen=True, slots=True)
class Gone:
    """Nothing is left."""


Step = Stop | Destroy | RemoveVolume | Wait | GiveUp | Gone


@dataclass(frozen=True, slots=True)
class Removal:
    """What comes next, and the sentence for it."""

    step: Step
    reason: str
    message: str


def removal(
    vmid: int, found: Found, task: TaskState | None, leftovers: tuple[str, ...] = (), grace: int = 0
) -> Removal:
    """What comes next. `leftovers` are volumes under the VMID, listed before the id was found to be free."""
    deleting = Reason.DELETING
    if task is not None and not task.ended:
        return Removal(Wait(TASK_AGAIN), deleting, f"Task {task.upid.type} runs on {task.upid.node}. ({task.upid})")
    if found.presence is Presence.ABSENT:
        if leftovers:
            volume = leftovers[0]
            return Removal(RemoveVolume(found.node, volume), deleting, f"The VM is gone; {volume} is removed.")
        strays = found.strays or NO_STRAYS
        if strays.images:
            host, volume = strays.images[0]
            why = f"The VM is gone; {volume} is removed from {host}, which it had left."
            return Removal(RemoveVolume(host, volume), deleting, why)
        if strays.unseen:
            why = f"The VM is gone. {strays.warning}"
            return Removal(Wait(HOST_AGAIN, remains=True), Reason.WAITING_FOR_HOST, why)
        return Removal(Gone(), deleting, "The VM, its disks and its boot data are gone.")
    if found.presence is Presence.FOREIGN:
        return Removal(GiveUp(), deleting, found.why)
    if found.presence is Presence.UNREACHABLE:
        moved = ", or the HA manager has moved the VM" if found.managed else ""
        why = f"{found.why} The VM is destroyed when the host is back{moved}."
        return Removal(Wait(HOST_AGAIN, host_off=True), Reason.WAITING_FOR_HOST, why)
    if found.presence is Presence.HIDDEN:
        return Removal(Wait(LOOK_AGAIN), deleting, found.why)
    if found.presence is Presence.BEING_MADE:
        why = f"The VM on {found.node} is being cloned; it is destroyed when that has ended. {UNFINISHED}"
        return Removal(Wait(HOST_AGAIN, unfinished=True), deleting, why)
    if found.stranger:
        why = (
            f"The VM on {found.node} has our marker, but {found.stranger}. It is not destroyed: undo that, or take "
            f"the line that begins with `nagaya:` out of its description to keep the VM."
        )
        return Removal(Wait(HOST_AGAIN), Reason.DELETION_FAILED, why)
    if task is not None and task.phase is Phase.FAILED:
        return Removal(Wait(failed=True), Reason.DELETION_FAILED, failure(task))
    if found.lock and found.lock != "destroyed":
        why = (
            f"VM {vmid} on {found.node} is locked ({found.lock}) by another operation. If none runs any more, "
            f"`qm unlock {vmid}` on the host frees it."
        )
        return Removal(Wait(LOOK_AGAIN), Reason.DELETION_FAILED, why)
    if found.running and found.managed and task is not None and task.upid.type == HA_STOP:
        return Removal(Wait(LOOK_AGAIN), deleting, f"The HA manager was asked to turn off the VM on {found.node}.")
    if found.running:
        return Removal(Stop(found.node, grace), deleting, f"The VM on {found.node} is turned off.")
    return Removal(Destroy(found.node), deleting, f"The VM on {found.node} is destroyed.")


def failure(task: TaskState) -> str:
    """What a failed task says, with the end of its log, and what helps where that is known. It is tried again."""
    said = " ".join(task.exitstatus.split()).rstrip(".")
    lines = [line.strip() for line in task.log if line.strip()][-_LOG_LINES:]
    log = f" The log ends: {' / '.join(lines)}." if lines else ""
    remedy = f" {task.remedy}" if task.remedy else ""
    again = "" if "tried again" in remedy else " It is tried again."
    return f"Task {task.upid.type} on {task.upid.node} failed: {said}.{log}{remedy}{again} ({task.upid})"
