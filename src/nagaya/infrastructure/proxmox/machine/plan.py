"""What to do for a machine: a list of decisions from top to bottom, each with a sentence for people. Pure.

A machine waits for others, gets a VMID and a host, is cloned, configured, made larger, addressed, given its boot data,
started and asked whether it is up. Where it stands is read off the world each time: there is no phase to get wrong.
Nothing that fails is final: it is told with the evidence and tried again after a growing pause.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxMachineCondition
from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.life import NATIVE
from nagaya.api.proxmox.proxmox_machine import FINALIZER
from nagaya.infrastructure.proxmox.boot.nocloud import PROVIDER
from nagaya.infrastructure.proxmox.client import Phase, TaskState
from nagaya.infrastructure.proxmox.client.property_string import Unwritable
from nagaya.infrastructure.proxmox.machine import hardware
from nagaya.infrastructure.proxmox.machine.adoption import adopting, needs_adoption, needs_marker, taking_over
from nagaya.infrastructure.proxmox.machine.booting import booting
from nagaya.infrastructure.proxmox.machine.delivery import way
from nagaya.infrastructure.proxmox.machine.health import NOT_YET, healthy, lost, running
from nagaya.infrastructure.proxmox.machine.leaving import leaving
from nagaya.infrastructure.proxmox.machine.memory import pause
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import (
    CloneTemplate,
    Configure,
    GiveUpReservation,
    LeaveToReaper,
    Name,
    Plan,
    Reserve,
    Resize,
    Said,
)
from nagaya.infrastructure.proxmox.machine.waiting import clone_is_late, start_limit
from nagaya.infrastructure.proxmox.machine.wish import wish
from nagaya.infrastructure.proxmox.placement import Decision, Placed, Refused, place, turn
from nagaya.infrastructure.proxmox.placement.templates import AMBIGUOUS, NO_TEMPLATE
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.infrastructure.proxmox.virtual_machine.removal import (
    HOST_AGAIN,
    LOOK_AGAIN,
    TASK_AGAIN,
    UNFINISHED,
    failure,
)
from nagaya.kube.conditions import get

NO_HOST_AGAIN: Final = 30.0
"""Seconds until a host is looked for again: nothing tells when another machine of Proxmox VE goes."""
_FAILURES: Final = {
    "qmclone": Reason.CLONING_FAILED,
    "qmstart": Reason.POWERING_ON_FAILED,
    "hastart": Reason.POWERING_ON_FAILED,
}


def plan(seen: Seen) -> Plan:
    """The next step for a machine."""
    machine, objects = seen.machine, seen.objects
    if machine.metadata.deleting:
        return leaving(seen)
    if objects.owner is None or objects.cluster is None:
        missing = "a Machine to refer to this ProxmoxMachine" if objects.owner is None else "the Cluster to exist"
        silent = bool(machine.metadata.owner_references)
        return replace(_waits(Reason.WAITING_FOR_OWNER, f"Waiting for {missing}."), silent=silent)
    if seen.link is not None and needs_adoption(seen):
        return adopting(seen)
    if needs_marker(seen):
        return taking_over(seen)
    if seen.provisioned:
        return running(seen)
    if objects.cluster.status.initialization.infrastructure_provisioned is not True:
        return _waits(
            Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE,
            "Waiting for Cluster status.initialization.infrastructureProvisioned to be true.",
        )
    if objects.infrastructure is None:
        name = objects.cluster.metadata.name
        return _waits(
            Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE,
            f"Cluster {name} does not refer to a ProxmoxCluster that exists. Machines on Proxmox VE need one.",
        )
    if objects.owner.spec.bootstrap.data_secret_name is None:
        return _waits(Reason.WAITING_FOR_BOOTSTRAP_DATA, "Waiting for the Machine to have bootstrap data.")
    if seen.link is None:
        return replace(_waits(Reason.WAITING_FOR_PROXMOX, seen.no_link), again_after=HOST_AGAIN)
    if FINALIZER not in machine.metadata.finalizers:
        return replace(_waits(Reason.WAITING_FOR_VMID, "The machine begins."), hold=True)
    later = seen.retry_after
    if later is not None:
        kept = _waits(Reason.TASK_FAILED, "It is tried again.")
        return replace(kept, keep=True, again_after=(later - seen.now).total_seconds())
    if seen.task is not None and not seen.task.ended:
        return _task_runs(seen, seen.task)
    if seen.task is not None and seen.task.phase is Phase.FAILED:
        if seen.clone_failed and _half_made(seen):
            return _abandon(seen, failure(seen.task))
        return failed(seen, _FAILURES.get(seen.task.upid.type, Reason.TASK_FAILED), failure(seen.task))
    if seen.found is None:
        return _reserve(seen)
    return _with_reservation(seen, seen.found)


def failed(seen: Seen, reason: str, message: str) -> Plan:
    """Something went wrong: it is told, and tried again after a pause that grows."""
    rest = pause(seen.failures)
    due = seen.now + timedelta(seconds=rest)
    told = replace(_waits(reason, message), retry_after=due, again_after=rest, failed=True, clear_task=True)
    return replace(told, healthy=healthy(seen))


def _task_runs(seen: Seen, task: TaskState) -> Plan:
    reason = {
        "qmclone": Reason.CLONING,
        "qmconfig": Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG,
        "resize": Reason.WAITING_FOR_DISK_RECONCILIATION,
        "imgcopy": Reason.WAITING_FOR_BOOTSTRAP_DATA_RECONCILIATION,
        "qmstart": Reason.WAITING_FOR_VM_POWER_UP,
        "hastart": Reason.WAITING_FOR_VM_POWER_UP,
    }.get(task.upid.type, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG)
    told = _waits(reason, f"Task {task.upid.type} runs on {task.upid.node}. ({task.upid})")
    limit = start_limit(seen.machine)
    if reason == Reason.WAITING_FOR_VM_POWER_UP and seen.now.timestamp() - task.upid.started > limit:
        why = (
            f"The VM is being started on {task.upid.node} for more than {limit} s. It is waited for: `qm status` and "
            f"the task's log there say more. ({task.upid})"
        )
        return replace(_waits(Reason.POWERING_ON_FAILED, why), again_after=TASK_AGAIN)
    # What was told when it was begun says more, and a second write of the same is of no use to anybody.
    known = get(seen.machine.status.conditions, ProxmoxMachineCondition.VIRTUAL_MACHINE_PROVISIONED)
    return replace(told, keep=known is not None and known.reason == reason, again_after=TASK_AGAIN)


def _reserve(seen: Seen) -> Plan:
    """A host that could have the machine is found first: who cannot be placed needs no VMID."""
    decided = _decide(seen)
    if isinstance(decided, Refused):
        return _refused(decided)
    assert seen.link is not None
    told = _waits(Reason.WAITING_FOR_VMID, f"The machine {decided}. A VMID is reserved.")
    pool = seen.machine.spec.pool or seen.link.pool
    return replace(told, step=Reserve(pool), placed=decided, node=decided.host)


def _with_reservation(seen: Seen, found: Found) -> Plan:
    objects, named = seen.objects, bool(seen.machine.spec.provider_id)
    if found.presence is Presence.ABSENT:
        return lost(seen) if named else _clone(seen)
    if found.presence is Presence.FOREIGN:
        if named:
            return lost(seen, found.why)
        told = _waits(Reason.WAITING_FOR_VMID, f"{found.why} Another VMID is taken.")
        return replace(told, step=GiveUpReservation(found.why))
    if found.presence is Presence.UNREACHABLE:
        why = f"{found.why} The machine goes on when the host is back."
        told = _waits(Reason.WAITING_FOR_PROXMOX, why)
        return replace(told, healthy=Said(None, Reason.HOST_UNREACHABLE, why), again_after=HOST_AGAIN)
    if found.presence is Presence.HIDDEN:
        # A clone comes into its pool last, so one that was killed may not be seen at all.
        why = found.why if named else f"{found.why} {UNFINISHED}"
        return replace(_waits(Reason.CLONING, why), again_after=LOOK_AGAIN)
    if found.presence is Presence.BEING_MADE:
        if clone_is_late(seen):
            return _abandon(seen, f"The clone of VM {objects.vmid} on {found.node} has not ended in time.")
        told = _waits(Reason.CLONING, f"VM {objects.vmid} is being cloned on {found.node}.")
        return replace(told, node=found.node, again_after=LOOK_AGAIN)
    return _with_vm(seen, found)


def _half_made(seen: Seen) -> bool:
    """Whether a clone that did not succeed has left something behind, as one does that was killed with its host."""
    found = seen.found
    left = found is not None and found.presence in (Presence.BEING_MADE, Presence.OURS, Presence.HIDDEN)
    return left and not seen.machine.spec.provider_id


def _abandon(seen: Seen, why: str) -> Plan:
    """Half a VM is never used. It is left to the reaper with its VMID, and the machine is made under another one."""
    assert seen.found is not None
    vmid, node = seen.objects.vmid, seen.found.node
    sentence = (
        f"{why} VM {vmid} on {node} is left behind (`qm unlock {vmid}` there lets it be destroyed; by hand, if nothing "
        "in it says whose it is)."
    )
    told = failed(seen, Reason.CLONING_FAILED, f"{sentence} Another VMID is taken.")
    return replace(told, step=LeaveToReaper(node))


def _clone(seen: Seen) -> Plan:
    decided = _decide(seen)
    if isinstance(decided, Refused):
        return _refused(decided)
    told = replace(_waits(Reason.CLONING, f"The machine {decided}."), placed=decided, node=decided.host)
    decided = _in_turn(seen, decided)
    told = replace(told, placed=decided)
    if not decided.turn.come:
        why = f"The machine {decided}."
        waiting = Said(False, Reason.WAITING_FOR_CLONE_SLOT, why)
        return replace(told, made=waiting, waits_for_turn=True, again_after=NO_HOST_AGAIN)
    return replace(told, step=CloneTemplate(decided))


def _in_turn(seen: Seen, decided: Placed) -> Placed:
    """The decision with the place in the queue that the machine has had before."""
    before = next((each for each in seen.promised if each.machine == seen.objects.uid), None)
    if before is None or seen.inventory is None:
        return decided
    shared = frozenset(each.name for each in seen.inventory.storages if each.shared)
    mine = replace(decided.reservation, since=before.since)
    return replace(decided, turn=turn(mine, seen.promised, decided.turn.limit, shared))


def _decide(seen: Seen) -> Decision:
    objects = seen.objects
    assert seen.snapshot is not None
    assert seen.inventory is not None
    assert seen.link is not None
    assert objects.infrastructure is not None
    wished = wish(
        seen.machine,
        objects.owner,
        objects.infrastructure,
        seen.snapshot,
        storage=seen.link.storage,
        bridge=seen.link.bridge,
        selector=seen.link.template_selector,
    )
    return place(wished, seen.inventory, seen.promised)


def _refused(decided: Refused) -> Plan:
    remedy = " ".join(decided.remedies)
    if decided.reason in (NO_TEMPLATE, AMBIGUOUS):
        # No host is to blame.
        return replace(_waits(Reason.TEMPLATE_NOT_FOUND, f"{decided.message}. {remedy}"), again_after=NO_HOST_AGAIN)
    why = " ".join(filter(None, (f"{decided}.", remedy, "It is looked for again.")))
    return replace(_waits(Reason.NO_SUITABLE_HOST, why), again_after=NO_HOST_AGAIN)


def _with_vm(seen: Seen, found: Found) -> Plan:
    """The VM is there, and it is ours."""
    machine, objects = seen.machine, seen.objects
    assert objects.vmid is not None
    assert seen.link is not None
    told = replace(_waits(Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, ""), node=found.node, healthy=healthy(seen))
    uuid = found.config.uuid
    if not uuid:
        why = "The template has no SMBIOS UUID (smbios1), so the VM cannot be told from others. Give it one."
        return failed(seen, Reason.VM_PROVISION_FAILED, why)
    provider_id = f"{PROVIDER}{uuid.lower()}"
    if not machine.spec.provider_id or machine.spec.virtual_machine_id is None:
        said = Said(False, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, f"VM {objects.vmid} is on {found.node}.")
        return replace(told, made=said, step=Name(objects.vmid, provider_id))
    if found.lock:
        why = f"The VM is locked ({found.lock}). If no such operation runs any more, `qm unlock {objects.vmid}` helps."
        return replace(told, made=Said(False, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, why), again_after=LOOK_AGAIN)
    if not found.running and not objects.has_boot_data:
        own = machine.spec.network.network_devices if machine.spec.network is not None else ()
        try:
            drive = way(seen, found) == NATIVE
            change = hardware.change(machine, found.config, own, bridge=seen.link.bridge, own_boot_drive=drive)
        except Unwritable as error:
            return failed(seen, Reason.VM_PROVISION_FAILED, f"{error}.")
        if change:
            what = ", ".join(sorted([*change.options, *change.delete]))
            said = Said(False, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, f"The VM is configured: {what}.")
            return replace(told, made=said, step=Configure(found.node, change, found.config.digest))
        if why := hardware.without_disk(machine, found.config):
            return failed(seen, Reason.VM_PROVISION_FAILED, why)
        if (grown := hardware.growth(machine, found.config)) is not None:
            disk, size = grown
            said = Said(False, Reason.WAITING_FOR_DISK_RECONCILIATION, f"Disk {disk} grows to {size}.")
            return replace(told, made=said, step=Resize(found.node, disk, size))
    return booting(seen, found, told, failed)


def _waits(reason: str, message: str) -> Plan:
    return Plan(Said(False, reason, message), NOT_YET)
