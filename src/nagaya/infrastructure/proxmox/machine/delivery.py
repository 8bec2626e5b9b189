"""How boot data get into a VM: on a CD image, or by Proxmox VE's cloud-init drive and the guest agent. Pure.

Which way is taken is decided while the VM is off, by what its machine says and what the credentials may do. From then
on the configuration of the VM tells it: a cloud-init drive that is set up as we set it up means that the agent is to
hand over the rest. So nothing changes for a VM on its way when rights change meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.life import ISO, NATIVE
from nagaya.infrastructure.proxmox.boot import native
from nagaya.infrastructure.proxmox.boot.network import Network
from nagaya.infrastructure.proxmox.client import property_string
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.hardware import Change, boot_disk, is_boot_drive
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Configure, HandOver, Plan, Said, Start
from nagaya.infrastructure.proxmox.machine.waiting import GUEST_AGAIN, LATE_AGAIN, for_agent, is_late, ran
from nagaya.infrastructure.proxmox.virtual_machine.found import Found

RESTART_AGAIN: Final = 10.0
"""Seconds until a guest is asked again that was told to restart."""
_ADDRESSES: Final = re.compile(r"^ipconfig\d+$")
_FIRST_DRIVE: Final = "ide2"
_DRIVES: Final = ("ide2", "ide0", "ide1", "ide3", "sata5", "sata4", "sata3")
_WITHOUT_IDE: Final = ("scsi30", "scsi29", "scsi28")


def is_native(config: MachineConfig) -> bool:
    """Whether a VM was set up to have its boot data by the agent."""
    ours = (config.get("citype"), config.get("ciupgrade")) == ("nocloud", "0")
    return ours and any(is_boot_drive(drive) for drive in config.disks.values())


def way(seen: Seen, found: Found) -> str:
    """The way that is taken: iso or native."""
    if found.running:
        return NATIVE if is_native(found.config) else ISO
    delivery = seen.machine.spec.boot_delivery
    asked = delivery.method if delivery is not None else None
    if asked in (ISO, NATIVE):
        return asked
    return ISO if seen.link is None or seen.link.uploads or not seen.link.enters else NATIVE


def why_not(seen: Seen, wanted: str) -> str:
    """Why a way cannot be taken; empty if it can."""
    assert seen.link is not None
    if wanted == ISO and not seen.link.uploads:
        return (
            "Boot data are delivered on a CD image, and the credentials may not upload one. Grant "
            "Datastore.AllocateTemplate and Datastore.Allocate on a storage for ISO images"
            + ("." if seen.link.enters else f", or {_NATIVE_RIGHTS} for the way by the guest agent.")
        )
    if wanted == NATIVE and not seen.link.enters:
        return (
            "Boot data are delivered by the guest agent, and the credentials may not write files or run programs in "
            f"guests. Grant {_NATIVE_RIGHTS}, or set bootDelivery.method to iso."
        )
    checks = seen.machine.spec.checks
    if wanted == NATIVE and checks is not None and checks.skip_qemu_guest_agent:
        return (
            "Boot data are delivered by the guest agent, and checks.skipQemuGuestAgent says that there is none. Set "
            "bootDelivery.method to iso."
        )
    return ""


_NATIVE_RIGHTS: Final = (
    "VM.GuestAgent.Unrestricted (VM.Monitor before Proxmox VE 9), VM.Config.Cloudinit and VM.Config.CDROM on the pool"
)


def drive(seen: Seen, config: MachineConfig, network: Network) -> Change:
    """What Proxmox VE's own cloud-init drive lacks."""
    wanted = native.options(network)
    options: dict[str, str | int | bool] = {
        name: value for name, value in wanted.items() if not _same(config.get(name), str(value))
    }
    # What a template says of devices that this machine has not, or not so, would be told to the guest as well.
    delete = tuple(name for name in config.options if _ADDRESSES.match(name) and name not in wanted)
    missing = not any(is_boot_drive(each) for each in config.disks.values())
    if missing:
        beside = config.disks.get(boot_disk(seen.machine, config))
        storage = (beside.leading or "").partition(":")[0] if beside is not None else ""
        options[_slot(config)] = f"{storage}:cloudinit"
    return Change(options, delete, volumes=missing)


def hand_over(seen: Seen, found: Found, network: Network, told: Plan) -> Plan:
    """The next step to a guest that has its boot data by the agent. It has them when cloud-init takes it for the
    instance that they are for."""
    reason = Reason.WAITING_FOR_BOOTSTRAP_DATA_RECONCILIATION
    if not found.running:
        change = drive(seen, found.config, network)
        if change:
            what = ", ".join(sorted([*change.options, *change.delete]))
            said = Said(False, reason, f"The cloud-init drive of the VM is set up: {what}.")
            return replace(told, made=said, step=Configure(found.node, change, found.config.digest))
        said = Said(False, Reason.WAITING_FOR_VM_POWER_UP, f"The VM is started on {found.node} to get its boot data.")
        return replace(told, made=said, step=Start(found.node))
    guest = seen.guest
    if guest is None or not guest.answers:
        return for_agent(seen, found, told)
    if guest.cloud_init == "unknown":
        why = (
            "Whether cloud-init is done cannot be read in the guest, so it cannot be given its boot data. Grant "
            f"{_NATIVE_RIGHTS}. {guest.why}"
        )
        return replace(told, made=Said(False, Reason.NOT_AUTHORIZED, why.strip()), again_after=GUEST_AGAIN * 6)
    if guest.cloud_init == "running":
        if is_late(seen.machine, found):
            why = f"{ran(seen, found)}, and has not ended its first start. {guest.evidence} It is told to restart."
            step = HandOver(found.node, network, stuck=True)
            return replace(told, made=Said(False, reason, why), step=step, rests=True, again_after=LATE_AGAIN)
        why = f"The guest on {found.node} starts for the first time; then it gets its boot data."
        return replace(told, made=Said(False, reason, why), again_after=GUEST_AGAIN)
    said = Said(False, reason, f"The boot data are written into the guest on {found.node}, which restarts with them.")
    step = HandOver(found.node, network)
    return replace(told, made=said, step=step, rests=True, again_after=RESTART_AGAIN)


def has_taken(seen: Seen, found: Found) -> bool:
    """Whether the guest runs with its boot data."""
    guest, uuid = seen.guest, found.config.uuid.lower()
    return guest is not None and bool(uuid) and guest.instance.lower() == uuid


def _slot(config: MachineConfig) -> str:
    choices = _WITHOUT_IDE if config.get("machine").startswith("virt") else _DRIVES
    return next((each for each in choices if each not in config.disks), _FIRST_DRIVE)


def _same(present: str, wanted: str) -> bool:
    """Proxmox VE may write the parts of an option in another order."""
    if present == wanted:
        return True
    if "=" not in wanted:
        return False
    return property_string.parse(present).options == property_string.parse(wanted).options
