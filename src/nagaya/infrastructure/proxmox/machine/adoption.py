"""Machines whose VM does not say yet that this management API has it. Pure.

Some have no reservation: those that CAPMOX made, those that clusterctl has moved here, and those whose reservation is
gone. Their VM gets the marker, then the reservation. The VM of a machine that was moved here is known by its claim
(virtual_machine/marker.py), one without a marker by its UUID, which the machine has in its provider ID, and by its
name. Nothing else is done with a VM before its marker is right: until then another management API may look after it.
"""

from __future__ import annotations

from dataclasses import replace

from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.infrastructure.proxmox.machine.health import MADE, healthy, lost
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Plan, Said, TakeOver
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence
from nagaya.infrastructure.proxmox.virtual_machine.marker import CLAIM, fingerprint, read
from nagaya.infrastructure.proxmox.virtual_machine.removal import HOST_AGAIN, LOOK_AGAIN


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
    return replace(told, node=found.node, step=TakeOver(found.pool if found.pool == pool else ""))


def needs_marker(seen: Seen) -> bool:
    """Whether the VM is ours and does not say so yet, or its machine could not prove it to another management API."""
    found, objects = seen.found, seen.objects
    if found is None or found.presence is not Presence.OURS or objects.reservation is None:
        return False
    if found.unmarked:
        return True
    known, claim = read(found.config.get("description")), objects.reservation.spec.claim
    if known is None or not objects.plane or not seen.machine.spec.provider_id or seen.machine.metadata.deleting:
        return False
    proves = known.claim == fingerprint(claim) and not known.leaving
    return not found.lock and not (claim and proves and seen.machine.metadata.annotations.get(CLAIM) == claim)


def taking_over(seen: Seen) -> Plan:
    """Have the VM say that it is ours, before anything else is done with it."""
    found, later = seen.found, seen.retry_after
    assert found is not None
    why = f"VM {seen.objects.vmid} on {found.node} gets the marker of this management API first."
    made = MADE if seen.provisioned else Said(False, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, why)
    told = Plan(made, healthy(seen), provisioned=seen.provisioned, node=found.node, again_after=LOOK_AGAIN)
    if later is not None:
        return replace(told, keep=True, again_after=(later - seen.now).total_seconds())
    return told if found.lock else replace(told, step=TakeOver())
