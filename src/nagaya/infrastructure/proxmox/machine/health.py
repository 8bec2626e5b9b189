"""Machines that are made: whether their VM runs, and what is done if it does not. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.infrastructure.proxmox.client import Phase, upid
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.delivery import is_native
from nagaya.infrastructure.proxmox.machine.high_availability import lacking
from nagaya.infrastructure.proxmox.machine.memory import pause
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Eject, Erase, Plan, Resume, Said, Start
from nagaya.infrastructure.proxmox.machine.waiting import for_node
from nagaya.infrastructure.proxmox.virtual_machine.found import NO_STRAYS, Found, Presence
from nagaya.infrastructure.proxmox.virtual_machine.removal import HOST_AGAIN, LOOK_AGAIN
from nagaya.infrastructure.proxmox.virtual_machine.removing import boot_image

HEALTH_AGAIN: Final = 60.0
"""Seconds until a VM that runs is looked at again. All machines share one question to the cluster."""
STARTED_AGAIN: Final = 600.0
"""A VM that is found off is turned on again, but not twice within so many seconds: whoever turns it off again means
it, and a guest that crashes at once is not helped by it."""
_WHAT_TO_DO: Final = "`nagaya why` says whether its Machine may be deleted and replaced, and what that would cost."
NOT_YET: Final = Said(None, Reason.NOT_RUNNING_YET, "The VM has not been started yet.")
MADE: Final = Said(True, Reason.PROVISIONED)


def healthy(seen: Seen) -> Said:
    """Whether the VM runs as it should."""
    found = seen.found
    if found is None or found.presence in (Presence.ABSENT, Presence.BEING_MADE):
        return NOT_YET
    if found.presence is Presence.UNREACHABLE:
        return Said(None, Reason.HOST_UNREACHABLE, f"{found.why} Whether the VM runs is not known.")
    if found.presence is Presence.HIDDEN:
        return Said(None, Reason.NOT_AUTHORIZED if found.forbidden else Reason.HOST_UNREACHABLE, found.why)
    if found.presence is Presence.FOREIGN:
        return Said(False, Reason.IDENTITY_MISMATCH, found.why)
    if not found.running:
        if not seen.provisioned:
            return NOT_YET
        return Said(False, Reason.STOPPED, f"The VM on {found.node} is off.")
    if found.state in ("io-error", "internal-error"):
        why = f"The VM on {found.node} stands still ({found.state}): look at the storage of its disks."
        return Said(False, Reason.IO_ERROR, why)
    if found.state in ("paused", "suspended"):
        why = f"The VM on {found.node} is {found.state}. It is told to go on, but not twice within ten minutes."
        return Said(False, Reason.SUSPENDED, why)
    return Said(True, Reason.RUNNING)


def running(seen: Seen) -> Plan:
    """A machine that is made is watched; what is left of its boot data is removed. What fails is tried again after a
    pause, whatever else brings us here meanwhile: what is written of the failure does, for one."""
    made, later = _watched(seen), seen.retry_after
    if made.step is None:
        return made
    if later is not None:
        rest = (later - seen.now).total_seconds()
        return replace(made, step=None, retry_after=later, again_after=min(rest, HEALTH_AGAIN))
    if seen.task is not None and seen.task.phase is Phase.FAILED:
        rest = pause(seen.failures)
        due = seen.now + timedelta(seconds=rest)
        return replace(made, step=None, retry_after=due, again_after=rest, failed=True, clear_task=True)
    return made


def _watched(seen: Seen) -> Plan:
    found = seen.found
    told = Plan(MADE, healthy(seen), provisioned=True, node=seen.machine.status.proxmox_node, again_after=HEALTH_AGAIN)
    if seen.link is None:
        unknown = Said(None, Reason.WAITING_FOR_PROXMOX, f"{seen.no_link} Whether the VM runs is not known.")
        return replace(told, healthy=unknown)
    if found is None:
        why = f"The reservation of its VMID is gone, so nobody knows which VM it is. {_WHAT_TO_DO}"
        return replace(told, healthy=Said(None, Reason.INTERNAL_ERROR, why))
    if seen.task is not None and not seen.task.ended:
        return told
    if found.presence is Presence.ABSENT:
        return lost(seen)
    if found.presence is Presence.FOREIGN:
        return lost(seen, found.why)
    if found.presence is Presence.UNREACHABLE:
        return replace(told, again_after=HOST_AGAIN)
    if found.presence is not Presence.OURS:
        return replace(told, again_after=LOOK_AGAIN)
    told = replace(told, node=found.node)
    if not found.running:
        return _off(seen, found, told)
    if found.state == "paused":
        return replace(told, step=Resume(found.node)) if not _just_tried(seen, "qmresume") else told
    if (late := for_node(seen, found)) is not None and told.healthy.holds:
        told = replace(told, healthy=late)
    # Secrets first: what the HA manager lacks may lack for long.
    next_step = _boot_data(seen, found, told)
    if next_step.step is None and (missing := lacking(seen, found)) is not None:
        return replace(next_step, step=missing.step, settled=False)
    return next_step


def _off(seen: Seen, found: Found, told: Plan) -> Plan:
    if found.lock:
        why = (
            f"The VM on {found.node} is off and locked ({found.lock}) by another operation. It is turned on when that "
            f"ends; if none runs any more, `qm unlock {seen.objects.vmid}` on the host frees it."
        )
        return replace(told, healthy=Said(False, Reason.STOPPED, why), again_after=LOOK_AGAIN)
    if found.ha_state == "error":
        why = (
            f"The VM on {found.node} is off, and the HA manager has given up on it (error). Set its state there to "
            "disabled, mend it, and set it to started again."
        )
        return replace(told, healthy=Said(False, Reason.STOPPED, why))
    if found.managed:
        # It starts the VM by itself; or somebody has told it not to, and means it.
        why = f"The VM on {found.node} is off. It is left to the HA manager, which says: {found.ha_state}."
        return replace(told, healthy=Said(False, Reason.STOPPED, why), again_after=HOST_AGAIN)
    if _just_tried(seen, "qmstart"):
        minutes = int(STARTED_AGAIN / 60)
        why = f"The VM on {found.node} is off, though it was turned on less than {minutes} minutes ago."
        return replace(told, healthy=Said(False, Reason.STOPPED, why))
    why = f"The VM on {found.node} was found off. It is turned on again."
    return replace(told, healthy=Said(False, Reason.STOPPED, why), step=Start(found.node))


def _just_tried(seen: Seen, kind: str) -> bool:
    """Whether the last task was this, and not long ago."""
    if not seen.machine.status.task_ref:
        return False
    last = upid(seen.machine.status.task_ref)
    return last.type == kind and seen.now.timestamp() - last.started < STARTED_AGAIN


def _boot_data(seen: Seen, found: Found, told: Plan) -> Plan:
    """Boot data hold secrets: they go as soon as the Machine has its Node."""
    owner, vmid = seen.objects.owner, seen.objects.vmid
    if seen.settled or owner is None or owner.status.node_ref is None or vmid is None:
        return told
    slots = slots_with_image(found.config, vmid)
    if slots:
        return replace(told, step=Eject(found.node, slots, found.config.digest))
    if seen.leftovers:
        return replace(told, step=Eject(found.node, (), ""))
    strays = found.strays or NO_STRAYS
    if strays.images:
        return replace(told, step=Eject(strays.images[0][0], (), ""))
    if strays.unseen and told.healthy.holds:
        told = replace(told, healthy=replace(told.healthy, message=strays.warning))
    if is_native(found.config) and not seen.erased:
        return replace(told, step=Erase(found.node)) if seen.erased is False else told
    return replace(told, settled=not strays.unseen)


def with_boot_data(seen: Seen, found: Found) -> tuple[str, ...]:
    """The hosts that may have the CD image: from before it is put there, until a look has shown that it is not."""
    known = seen.objects.hosts
    if seen.settled:
        return ()
    if not seen.provisioned:
        return tuple(dict.fromkeys((*known, found.node)))
    if found.strays is None:
        return known
    return (*((found.node,) if seen.leftovers else ()), *found.strays.hosts)


def slots_with_image(config: MachineConfig, vmid: int) -> tuple[str, ...]:
    """The drives that the CD image with the boot data is in."""
    ending = f"iso/{boot_image(vmid)}"
    return tuple(name for name, drive in config.disks.items() if (drive.leading or "").endswith(ending))


def lost(seen: Seen, why: str = "") -> Plan:
    """The VM was there and is not any more. It is never made again under this name: its Machine is to be replaced."""
    vmid = seen.objects.vmid
    sentence = why or f"VM {vmid} is gone: somebody has destroyed it. {_WHAT_TO_DO}"
    said = Said(False, Reason.IDENTITY_MISMATCH if why else Reason.VM_NOT_FOUND, sentence)
    made = MADE if seen.provisioned else said
    node = seen.machine.status.proxmox_node
    return Plan(made, said, provisioned=seen.provisioned, node=node, again_after=HEALTH_AGAIN)
