"""From what a machine boots: the order in which its devices are tried."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.configuration import drives_of
from nagaya.simulators.proxmox.qemu.drives import is_drive, parse_drive
from nagaya.simulators.proxmox.qemu.networks import networks_of
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.verification import split_list


def order(boot: object) -> list[str]:
    """The devices in an option `boot`; none if it is empty or of the old form with letters."""
    text = str(boot or "").strip()
    found = options.parts("boot", text).get("order") if text else None
    return split_list(str(found)) if found else []


def joined(devices: Iterable[str]) -> str:
    """The option for some devices."""
    text = ";".join(devices)
    return f"order={text}" if text else ""


def default(section: Options) -> list[str]:
    """The first disk, the first CD-ROM and the first network device."""
    drives = [drive for drive in drives_of(section) if drive.bus not in ("efidisk", "tpmstate")]
    disk = next((drive.key for drive in drives if not drive.cdrom), None)
    cdrom = next((drive.key for drive in drives if drive.cdrom), None)
    network = next(iter(networks_of(section)), None)
    return [device for device in (disk, cdrom, network) if device is not None]


def disks(section: Options) -> list[str]:
    """The drives that a machine boots from; without an order it is the one that the older option names."""
    text = str(section.get("boot") or "").strip()
    if text and "order" in options.parts("boot", text):
        return [device for device in order(text) if is_drive(device)]
    return [str(section["bootdisk"])] if section.get("bootdisk") else []


def disk_size(section: Options) -> int:
    """Bytes of the first disk in the order, which PVE shows as the size of the machine's disk."""
    for device in disks(section):
        drive = parse_drive(device, str(section[device])) if device in section else None
        if drive is not None and not drive.cdrom and drive.file:
            return drive.size or 0
    return 0
