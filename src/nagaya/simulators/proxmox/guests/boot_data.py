"""Boot data as a system finds it on a CD-ROM: by its label, in the two forms that PVE and its users write."""

from __future__ import annotations

from nagaya.simulators.proxmox.guests.iso9660 import NotAnImage, read_image
from nagaya.simulators.proxmox.qemu.cloud_init import BootData

NOCLOUD = "cidata"
CONFIG_DRIVE = "config-2"


def read_boot_data(image: bytes) -> BootData | None:
    """What is on a CD-ROM; None if that is not boot data."""
    try:
        label, files = read_image(image)
    except NotAnImage:
        return None

    def text(name: str) -> str:
        return files.get(name, b"").decode("utf-8", "replace")

    if label.lower() == NOCLOUD:
        return BootData(text("user-data"), text("network-config"), text("meta-data"), text("vendor-data"), NOCLOUD)
    if label.lower() == CONFIG_DRIVE:
        return BootData(
            text("openstack/latest/user_data"),
            text("openstack/content/0000") or text("openstack/latest/network_data.json"),
            text("openstack/latest/meta_data.json"),
            text("openstack/latest/vendor_data.json"),
            CONFIG_DRIVE,
        )
    return None
