"""From what a machine boots: the order in which its devices are tried."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.configuration import drives_of
from nagaya.simulators.proxmox.qemu.drives import is_drive
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


def disk_size(section: Options) -> int:
    """Bytes of the first disk in the order, which PVE shows as the size of the machine's disk."""
    boot = section.get("boot")
    text = str(boot or "").strip()
    if not text or "order" not in options.parts("boot", text):
        devices = [str(section["bootdisk"])] if section.get("bootdisk") else []
    else:
        devices = order(boot)
    drives = {drive.key: drive for drive in drives_of(section)}
    for device in devices:
        drive = drives.get(device) if is_drive(device) else None
        if drive is not None and not drive.cdrom and drive.file:
            return drive.size or 0
    return 0
