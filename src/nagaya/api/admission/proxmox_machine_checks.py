"""Checks of what a VM is to be, for ProxmoxMachines and for the templates that they are made from."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, at, items, mapping, number, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.admission.proxmox_network_checks import check_network


def check_machine(spec: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the content of a ProxmoxMachine."""
    yield from check_network(mapping(spec, "network"), f"{field}.network")
    yield from _check_disks(spec, field)
    yield from _check_hardware(spec, field)
    yield from check_hosts(spec, field)


def check_hosts(spec: Content, field: str) -> Iterator[FieldError]:
    """Whether any host is left."""
    allowed = texts(spec, "allowedNodes")
    if allowed and not set(allowed) - set(texts(spec, "placement", "deniedNodes")):
        detail = "denies every host of allowedNodes: no machine could be placed. Leave at least one"
        yield forbidden(f"{field}.placement.deniedNodes", detail)


def _check_disks(spec: Content, field: str) -> Iterator[FieldError]:
    boot = text(spec, "disks", "bootVolume", "disk")
    delivery = text(spec, "bootDelivery", "slot")
    if boot and boot == delivery:
        detail = f"is where the boot disk is ({boot}): choose another place, or leave it out"
        yield forbidden(f"{field}.bootDelivery.slot", detail)
    for index, volume in enumerate(items(spec, "disks", "additionalVolumes")):
        place = text(volume, "disk")
        if place in (boot, delivery):
            taken = "the boot disk" if place == boot else "the CD with the boot data"
            detail = f"is where {taken} is: choose another place, for example the next one"
            yield invalid(f"{field}.disks.additionalVolumes[{index}].disk", place, detail)
        if volume.get("ssd") is True and place.startswith("virtio"):
            detail = f"is not possible with {place}: Proxmox VE knows it for scsi, sata and ide"
            yield forbidden(f"{field}.disks.additionalVolumes[{index}].ssd", detail)
        if volume.get("iothread") is True and not place.startswith(("scsi", "virtio")):
            detail = f"is not possible with {place}: Proxmox VE knows it for scsi and virtio"
            yield forbidden(f"{field}.disks.additionalVolumes[{index}].iothread", detail)


def _check_hardware(spec: Content, field: str) -> Iterator[FieldError]:
    memory, least = number(spec, "memoryMiB"), number(spec, "balloon", "minimumMiB")
    if memory is not None and least is not None and least > memory:
        yield invalid(f"{field}.balloon.minimumMiB", least, f"is more than memoryMiB, which is {memory}: give less")
    board = text(spec, "firmware", "machine")
    for index, device in enumerate(items(spec, "pciDevices")):
        if device.get("pcie") is True and board and "q35" not in board:
            detail = f"needs the machine q35, not {board}: change firmware.machine, or leave pcie out"
            yield forbidden(f"{field}.pciDevices[{index}].pcie", detail)
    if at(spec, "ha", "enabled") is False and (text(spec, "ha", "group") or texts(spec, "ha", "rules")):
        yield forbidden(
            f"{field}.ha", "has a group or rules and is not enabled: set enabled to true, or leave them out"
        )
