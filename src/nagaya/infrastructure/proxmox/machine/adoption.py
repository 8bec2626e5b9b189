"""Machines that have a VM and no reservation: those that CAPMOX made, and those whose reservation is gone. Pure.

Such a VM is known by its UUID, which the machine has in its provider ID, and by its name. It gets the marker, then the
reservation: from there on it is one like all others, and nothing was done to it that it notices.
"""

from __future__ import annotations

from dataclasses import replace

from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.infrastructure.proxmox.machine.health import MADE, healthy, lost
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Adopt, Plan, Said
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence
from nagaya.infrastructure.proxmox.virtual_machine.removal import HOST_AGAIN


def needs_adoption(seen: Seen) -> bool:
    """Whether the machine says which VM it is, and no reservation does."""
    return seen.objects.reservation is None and seen.machine.spec.virtual_machine_id is not None


def adopting(seen: Seen) -> Plan:
    """Take the VM in, if it is the one that is meant."""
    found, vmid = seen.found, seen.machine.spec.virtual_machine_id
    why = f"VM {vmid} has no reservation yet; it is taken in."
    made = MADE if seen.provisioned else Said(False, Reason.WAITING_FOR_VMID, why)
    told = Plan(made, healthy(seen), provisioned=seen.provisioned, again_after=HOST_AGAIN)
    if found is None:
        return replace(told, healthy=Said(None, Reason.WAITING_FOR_PROXMOX, seen.no_link))
    if found.presence is Presence.ABSENT:
        return lost(seen)
    if found.presence is Presence.FOREIGN:
        return lost(seen, found.why)
    if found.presence is not Presence.OURS or found.lock:
        return told
    pool = seen.machine.spec.pool or (seen.link.pool if seen.link is not None else "")
    return replace(told, node=found.node, step=Adopt(found.node, found.pool if found.pool == pool else ""))
