"""Turning the disks of a machine into ones that others can be linked to."""

from __future__ import annotations

from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.tasks.runner import Log


async def make_bases(host: Host, configuration: Configuration, log: Log, only: str | None = None) -> None:
    """Turn all disks, or one; the file is written after each, so that none is lost when one fails."""
    for drive in configuration.drives():
        if drive.cdrom or (only is not None and drive.key != only) or split_id(drive.file) is None:
            continue
        if not host.volumes.has_feature("template", drive.file):
            continue
        volume = await host.volumes.make_base(log, drive.file)
        drive.file = volume.id
        configuration.options[drive.key] = drive.text()
        host.write(configuration, log)
