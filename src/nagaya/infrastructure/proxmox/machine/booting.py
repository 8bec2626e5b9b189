"""From a VM that is as it should be to a machine that is up: addresses, boot data, power, guest agent. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from ipaddress import ip_interface
from typing import Final

from nagaya.api.ipam.ip_address_claim import READY
from nagaya.api.proxmox.addresses import DHCP
from nagaya.api.proxmox.conditions import ProxmoxMachineReason as Reason
from nagaya.api.proxmox.life import ISO, NATIVE
from nagaya.api.proxmox.proxmox_machine import DEFAULT_ADDRESSES
from nagaya.infrastructure.proxmox.client import Phase
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine import network
from nagaya.infrastructure.proxmox.machine.delivery import hand_over, has_taken, is_native, way, why_not
from nagaya.infrastructure.proxmox.machine.evidence import OUTPUT, shown
from nagaya.infrastructure.proxmox.machine.hardware import mac_of
from nagaya.infrastructure.proxmox.machine.health import MADE, slots_with_image
from nagaya.infrastructure.proxmox.machine.high_availability import lacking
from nagaya.infrastructure.proxmox.machine.seen import Seen
from nagaya.infrastructure.proxmox.machine.steps import Attach, ClaimAddresses, Plan, Resume, Said, Start, Upload
from nagaya.infrastructure.proxmox.machine.waiting import (
    GUEST_AGAIN,
    for_address,
    for_agent,
    for_cloud_init,
    start_limit,
)
from nagaya.infrastructure.proxmox.virtual_machine.found import Found
from nagaya.infrastructure.proxmox.virtual_machine.removing import boot_image
from nagaya.kube.conditions import get

HA_START: Final = "hastart"
"""The task that asks the HA manager to start a VM. It has ended before the VM runs."""
DEFAULT_SLOT: Final = "ide0"
_OTHER_SLOTS: Final = ("ide0", "ide1", "ide2", "ide3", "sata0", "sata1", "sata2", "sata3", "sata4", "sata5")
_WITHOUT_IDE: Final = ("scsi30", "scsi29", "scsi28")
UPLOAD_TASK: Final = "imgcopy"

Failed = Callable[[Seen, str, str], Plan]


def booting(seen: Seen, found: Found, told: Plan, failed: Failed) -> Plan:
    """What comes after the VM is configured."""
    machine, objects = seen.machine, seen.objects
    infrastructure = objects.infrastructure
    assert infrastructure is not None
    assert objects.vmid is not None
    wanted = network.claims(machine, infrastructure, objects.metrics)
    if isinstance(wanted, str):
        return _waits(told, Reason.WAITING_FOR_STATIC_IP_ALLOCATION, wanted)
    missing = tuple(each for each in wanted if each.name not in objects.claims)
    if missing:
        names = ", ".join(each.name for each in missing)
        waiting = _waits(told, Reason.WAITING_FOR_STATIC_IP_ALLOCATION, f"Addresses are claimed: {names}.")
        return replace(waiting, step=ClaimAddresses(missing))
    open_claims = [each for each in wanted if each.name not in objects.addresses]
    if open_claims:
        return _waits(told, Reason.WAITING_FOR_STATIC_IP_ALLOCATION, _without_address(seen, open_claims))
    told = _addressed(seen, wanted, told)
    attached = slots_with_image(found.config, objects.vmid)
    if found.state == "paused" and (attached or is_native(found.config)):
        why = f"The VM on {found.node} is paused; it goes on."
        return replace(_waits(told, Reason.WAITING_FOR_VM_POWER_UP, why), step=Resume(found.node))
    if not attached and not objects.has_boot_data and not has_taken(seen, found):
        return _give_boot_data(seen, found, wanted, told, failed)
    told = replace(told, has_boot_data=True)
    if not found.running:
        return _start(seen, found, told, failed)
    if found.state == "paused":
        why = f"The VM on {found.node} is paused; it goes on."
        return replace(_waits(told, Reason.WAITING_FOR_VM_POWER_UP, why), step=Resume(found.node))
    return _up(seen, found, told, failed)


def _without_address(seen: Seen, claims: Iterable[network.WantedClaim]) -> str:
    """What is waited for, with what those say who give addresses."""
    sentences: list[str] = []
    for each in claims:
        said = get(seen.objects.claims[each.name].status.conditions, READY)
        why = f": {said.message}" if said is not None and said.status != "True" and said.message else "."
        sentences.append(f"Waiting for the address of claim {each.name} from {each.pool.kind} {each.pool.name}{why}")
    return " ".join(sentences)


def _start(seen: Seen, found: Found, told: Plan, failed: Failed) -> Plan:
    """Turn the VM on. One that the HA manager looks after is turned on by it, some time after it was asked."""
    task = seen.task
    if found.managed and task is not None and task.upid.type == HA_START:
        took = seen.now.timestamp() - task.upid.started
        if took <= start_limit(seen.machine):
            why = f"The HA manager was asked to start the VM on {found.node} (it says: {found.ha_state})."
            return replace(_waits(told, Reason.WAITING_FOR_VM_POWER_UP, why), again_after=GUEST_AGAIN)
        why = (
            f"The HA manager has not started the VM on {found.node} in {took / 60:.0f} min. It says: {found.ha_state}."
        )
        return failed(seen, Reason.POWERING_ON_FAILED, f"{why} It is asked again.")
    why = f"The VM is started on {found.node}."
    return replace(_waits(told, Reason.WAITING_FOR_VM_POWER_UP, why), step=Start(found.node))


def _give_boot_data(
    seen: Seen, found: Found, wanted: tuple[network.WantedClaim, ...], told: Plan, failed: Failed
) -> Plan:
    machine, objects = seen.machine, seen.objects
    reason = Reason.WAITING_FOR_BOOTSTRAP_DATA_RECONCILIATION
    assert objects.infrastructure is not None
    assert objects.vmid is not None
    assert seen.link is not None
    wanted_way = way(seen, found)
    if found.running and wanted_way == ISO:
        why = (
            f"The VM on {found.node} was turned on before it had its boot data. Turn it off (`qm stop {objects.vmid}`)."
        )
        return replace(_waits(told, reason, why), again_after=GUEST_AGAIN)
    if why := why_not(seen, wanted_way):
        return failed(seen, Reason.NOT_AUTHORIZED, why)
    if wanted_way == NATIVE:
        try:
            told_to_guest = network.guest_network(
                machine, objects.infrastructure, wanted, objects.addresses, found.config
            )
        except ValueError as error:
            return failed(seen, Reason.VM_PROVISION_FAILED, f"The network of the machine cannot be: {error}.")
        return hand_over(seen, found, told_to_guest, told)
    storage = _storage(seen, found.node)
    if not storage:
        delivery = machine.spec.boot_delivery
        named = delivery.storage if delivery is not None and delivery.storage else seen.link.iso_storage
        why = (
            f"Host {found.node} has no storage {named} that takes CD images (content iso) and is available."
            if named
            else f"Host {found.node} has no storage that takes CD images (content iso) and is available."
        )
        return failed(seen, reason, f"{why} Add one, or name one in bootDelivery.storage.")
    if seen.task is not None and seen.task.upid.type == UPLOAD_TASK and seen.task.phase is Phase.SUCCEEDED:
        slot = _slot(seen, found.config)
        volume = f"{storage}:iso/{boot_image(objects.vmid)}"
        attaching = _waits(told, reason, f"The CD image with the boot data is put into {slot}.")
        return replace(attaching, step=Attach(found.node, slot, volume, found.config.digest))
    try:
        made = network.guest_network(machine, objects.infrastructure, wanted, objects.addresses, found.config)
    except ValueError as error:
        return failed(seen, Reason.VM_PROVISION_FAILED, f"The network of the machine cannot be: {error}.")
    uploading = _waits(told, reason, f"The boot data are put on storage {storage} of {found.node}.")
    return replace(uploading, step=Upload(found.node, storage, made))


def _storage(seen: Seen, node: str) -> str:
    """The storage for the CD image: as told, else the first, and local ones before those that all hosts see."""
    assert seen.link is not None
    assert seen.snapshot is not None
    delivery = seen.machine.spec.boot_delivery
    named = (delivery.storage if delivery is not None else "") or seen.link.iso_storage
    usable = [each for each in seen.snapshot.storages_on(node) if each.available and ISO in each.contents]
    if named:
        return named if any(each.name == named for each in usable) else ""
    return min(usable, key=lambda each: (each.shared, each.name)).name if usable else ""


def _slot(seen: Seen, config: MachineConfig) -> str:
    """Where the CD goes: as told, else a place that the machine type has and nothing else is in."""
    delivery = seen.machine.spec.boot_delivery
    if delivery is not None and delivery.slot:
        return delivery.slot
    choices = _WITHOUT_IDE if config.get("machine").startswith("virt") else _OTHER_SLOTS
    for slot in choices:
        drive = config.disks.get(slot)
        if drive is None or drive.leading == "none":
            return slot
    return DEFAULT_SLOT


def _addressed(seen: Seen, wanted: tuple[network.WantedClaim, ...], told: Plan) -> Plan:
    """What is known of the addresses: from the pools, and by DHCP from the guest."""
    objects, guest = seen.objects, seen.guest
    assert objects.infrastructure is not None
    by_device: dict[str, list[str]] = {}
    for claim in sorted(wanted, key=lambda each: not each.default):
        for place in (claim.device, *([DEFAULT_ADDRESSES] if claim.default else [])):
            by_device.setdefault(place, []).append(objects.addresses[claim.name].spec.address)
    first = [
        objects.addresses[each.name].spec.address for each in sorted(wanted, key=lambda each: not each.default)
    ]  # fmt: skip
    if guest is not None and seen.found is not None:
        for device in network.devices(seen.machine):
            name = network.name_of(device)
            if network.addressing(device, objects.infrastructure) != DHCP:
                continue
            mac = mac_of(seen.found.config, name).lower()
            told_by_guest = [
                str(parsed.ip)
                for interface in guest.interfaces
                if interface.mac == mac
                for text in interface.addresses
                if not (parsed := ip_interface(text)).is_link_local
            ]
            if told_by_guest:
                by_device.setdefault(name, []).extend(told_by_guest)
                first += told_by_guest
    name = seen.machine.metadata.name
    addresses = (("Hostname", name), *(("InternalIP", each) for each in dict.fromkeys(first)))
    return replace(
        told, addresses=addresses, device_addresses={each: tuple(found) for each, found in by_device.items()}
    )


def _up(seen: Seen, found: Found, told: Plan, failed: Failed) -> Plan:
    """Whether the guest is up. What cannot be asked is not waited for."""
    machine, guest = seen.machine, seen.guest
    checks = machine.spec.checks
    asked = checks is None or not checks.skip_qemu_guest_agent
    if asked:
        if guest is None or not guest.answers:
            return for_agent(seen, found, told)
        if checks is None or not checks.skip_cloud_init_status:
            if guest.cloud_init == "running":
                return for_cloud_init(seen, found, told)
            if guest.cloud_init not in ("done", "unknown", ""):
                why = f"cloud-init failed in the guest: {shown(guest.cloud_init)}. See {OUTPUT} there. {guest.evidence}"
                return replace(_waits(told, Reason.CLOUD_INIT_FAILED, why.strip()), again_after=GUEST_AGAIN * 6)
    if asked and not any(kind == "InternalIP" for kind, _ in told.addresses):
        return for_address(seen, found, told)
    if (missing := lacking(seen, found)) is not None:
        if missing.step is not None:
            waiting = _waits(told, Reason.WAITING_FOR_VIRTUAL_MACHINE_CONFIG, missing.message)
            return replace(waiting, step=missing.step)
        if missing.blocks:
            return failed(seen, Reason.VM_PROVISION_FAILED, missing.message)
    return replace(told, made=MADE, provisioned=True, again_after=None)


def _waits(told: Plan, reason: str, message: str) -> Plan:
    return replace(told, made=Said(False, reason, message))
