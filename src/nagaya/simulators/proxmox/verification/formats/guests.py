"""Formats of a VM's options that are neither names nor property strings."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.kinds import Check, matching
from nagaya.simulators.proxmox.verification.values import is_true, split_list

HOTPLUG_FEATURES = frozenset({"network", "disk", "cpu", "memory", "usb", "cloudinit"})
DRIVES = {"ide": 4, "scsi": 31, "virtio": 16, "sata": 6, "efidisk": 1, "tpmstate": 1}
_BOOTABLE = {"ide": 4, "scsi": 31, "virtio": 16, "sata": 6, "net": 32, "usb": 14, "hostpci": 16}
_DEVICE = re.compile(r"^([a-z]+)(0|[1-9]\d*)$")
_CORES = re.compile(r"^\s*(\d+)(?:-(\d+))?\s*$")
_STARTUP = re.compile(r"^(?:(?:order=)?\d+|up=\d+|down=\d+)$")


def _is_device(value: str, families: dict[str, int]) -> bool:
    matched = _DEVICE.match(value)
    return matched is not None and int(matched[2]) < families.get(matched[1], 0)


def boot_device(value: str) -> None:
    """Something a VM can start from."""
    if not _is_device(value, _BOOTABLE):
        raise FormatError(f"invalid boot device '{value}'\n")


def boot_disk(value: str) -> None:
    """A drive, the old way to say from where a VM starts."""
    if not _is_device(value, DRIVES):
        raise FormatError(f"invalid boot disk '{value}'\n")


def hotplug(value: str) -> None:
    """What can be changed while a VM runs: 0, 1 or a list."""
    if value in ("0", "1"):
        return
    for feature in split_list(value):
        if feature not in HOTPLUG_FEATURES:
            raise FormatError(f"invalid hotplug feature '{feature}'\n")


def cpu_set(value: str) -> None:
    """Cores of the host, single or in ranges."""
    for part in value.rstrip(",").split(",") if value.rstrip(",") else ():
        matched = _CORES.match(part)
        if matched is None or (matched[2] and int(matched[2]) < int(matched[1])):
            raise FormatError("unable to parse cpuset option\n")


def startup(value: str) -> None:
    """When a host starts a VM, and how long it waits before and after."""
    parts = [part for part in value.split(",") if part.strip()]
    if not is_true(value) or any(_STARTUP.match(part) is None for part in parts):
        raise FormatError("unable to parse startup options\n")


def physical_bits(value: str) -> None:
    """The width of addresses, or as the host has it."""
    if value != "host" and (re.match(r"^\d{1,2}$", value) is None or not 8 <= int(value) <= 64):
        raise FormatError("value must be an integer between 8 and 64 or 'host'\n")


FORMATS: dict[str, Check] = {
    "pve-calendar-event": matching(r"^[\w\s*/,.:~-]+$", "unable to parse calendar event"),
    "pve-cpuset": cpu_set,
    "pve-hotplug-features": hotplug,
    "pve-phys-bits": physical_bits,
    "pve-qm-bootdev": boot_device,
    "pve-qm-bootdisk": boot_disk,
    "pve-startup-order": startup,
}
