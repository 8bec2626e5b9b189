"""Returning to a snapshot: the machine is stopped, its disks and options become what they were then."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.snapshotting import activate, copied
from nagaya.simulators.proxmox.qemu.actions.starting import start_locked
from nagaya.simulators.proxmox.qemu.actions.stopping import stop_locked
from nagaya.simulators.proxmox.qemu.configuration import Configuration, drives_of
from nagaya.simulators.proxmox.qemu.drives import parse_drive
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.tasks.runner import Log


async def rollback(host: Host, vmid: int, name: str, log: Log) -> None:
    """Return to a snapshot."""
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        snapshot = _found(configuration, name)
        activate(host, snapshot)
        _check_newest(host, snapshot, name)
        _wanted(configuration, name)
        configuration.check_lock()
        await stop_locked(host, vmid, log, timeout=5, force=True)
        configuration = host.load(vmid)
        configuration.options["lock"] = "rollback"
        host.write(configuration, log)
    for drive in drives_of(snapshot):
        if drive.cdrom:
            continue
        await asyncio.sleep(host.emulator.pace.task)
        if (volume := host.volumes.find(drive.file)) is None or name not in volume.snapshots:
            path = host.volumes.path(drive.file)
            raise Failure(f"command '/usr/bin/qemu-img snapshot -a {name} {path}' failed: exit code 1\n")
        volume.size = volume.snapshots[name]
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        snapshot = _wanted(configuration, name)
        if configuration.lock != "rollback":
            raise Failure("got wrong lock\n")
        kept = {drive.file for drive in drives_of(snapshot) if not drive.plain_cdrom}
        for drive in configuration.drives():
            if drive.plain_cdrom or drive.file in kept:
                continue
            if drive.cloudinit:
                log.say(f"found unused cloudinit disk '{drive.file}', removing it")
                await host.volumes.free(log, drive.file)
            else:
                configuration.add_unused(drive.file)
        section = {
            option: value
            for option, value in configuration.options.items()
            if option == "description" or options.family(option) == "unused"
        }
        section |= copied(snapshot) | {"parent": name}
        for option in ("runningmachine", "runningcpu", "running-nets-host-mtu"):
            section.pop(option, None)
        if section.get("vmgenid"):
            section["vmgenid"] = host.emulator.world.uid()
        for option in [option for option in section if options.family(option) == "unused"]:
            if (unused := parse_drive(option, str(section[option]))) and unused.file in kept:
                del section[option]
        configuration.options = section
        configuration.pending, configuration.deletions, configuration.cloudinit = {}, {}, {}
        host.write(configuration, log)
        if snapshot.get("vmstate"):
            await start_locked(host, vmid, log)


def _found(configuration: Configuration, name: str) -> Options:
    if configuration.template:
        raise Failure("you can't rollback if vm is a template\n")
    if name not in configuration.snapshots:
        raise Failure(f"snapshot '{name}' does not exist\n")
    return configuration.snapshots[name]


def _check_newest(host: Host, section: Options, name: str) -> None:
    """ZFS returns to the newest snapshot only: those after it would be lost."""
    for drive in drives_of(section):
        if drive.cdrom or drive.storage is None or host.volumes.storage(drive.storage).type != "zfspool":
            continue
        volume = host.volumes.find(drive.file)
        if volume is None or name not in volume.snapshots:
            raise Failure(f"can't rollback, snapshot '{name}' does not exist on '{drive.file}'\n")
        if name != list(volume.snapshots)[-1]:
            raise Failure(f"can't rollback, '{name}' is not most recent snapshot on '{drive.file}'\n")


def _wanted(configuration: Configuration, name: str) -> Options:
    snapshot = _found(configuration, name)
    if state := snapshot.get("snapstate"):
        raise Failure(f"unable to rollback to incomplete snapshot (snapstate = {state})\n")
    return snapshot
