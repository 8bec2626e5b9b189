"""Snapshots: states of a machine to which it can return.

The file is not held all the time, for taking one is slow; a lock in the file itself keeps others off. A snapshot that
could not be finished stays in the file, marked, until somebody deletes it by force.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.freezing import freeze, freezer, thaw
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.saving import running_machine, save_state, state_storage
from nagaya.simulators.proxmox.qemu.configuration import Configuration, drives_of
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.tasks.runner import Log, interruptible

_NOT_COPIED = frozenset({"snapstate", "snaptime", "vmstate", "lock", "digest", "description"})


def has_feature(host: Host, feature: str, section: Options, snapshot: str | None = None) -> bool:
    """Whether all disks can do something."""
    return all(
        host.volumes.has_feature(feature, drive.file, snapshot) for drive in drives_of(section) if not drive.cdrom
    )


def activate(host: Host, section: Options) -> None:
    """Make the storages of all disks, and of a saved memory, ready for use."""
    names = {drive.storage for drive in drives_of(section) if not drive.cdrom and drive.storage}
    if state := section.get("vmstate"):
        names.add(str(state).partition(":")[0])
    for name in sorted(names):
        host.volumes.active(name)


async def create(
    host: Host, vmid: int, name: str, log: Log, *, memory: bool = False, description: str | None = None
) -> None:
    """Take a snapshot."""
    async with host.lock(vmid, log):
        snapshot = await _prepare(host, vmid, name, log, memory=memory, description=description)
    configuration = host.load(vmid)
    guest = host.present(vmid)
    running = guest.process is not None
    frozen = None
    if running and not snapshot.get("vmstate"):
        frozen = await freezer(host, guest, configuration.options, log)
    if frozen is not None:
        await freeze(frozen, log)
    done: list[str] = []
    try:
        with interruptible(log):
            await _take(host, snapshot, name, running, done, log)
    except Failure as failure:
        log.say("snapshot create failed: starting cleanup")
        await delete(host, vmid, name, log, force=True, only=done)
        raise Failure(f"{failure.text}\n") from None
    finally:
        if frozen is not None:
            await thaw(frozen, log, prefix="guest-fsfreeze-thaw problems - ")
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        if configuration.lock != "snapshot":
            raise Failure("missing snapshot lock\n")
        if name not in configuration.snapshots:
            raise Failure(f"snapshot '{name}' does not exist\n")
        configuration.snapshots[name].pop("snapstate", None)
        del configuration.options["lock"]
        configuration.options["parent"] = name
        host.write(configuration, log)


async def _prepare(host: Host, vmid: int, name: str, log: Log, *, memory: bool, description: str | None) -> Options:
    configuration = host.load(vmid)
    if configuration.template:
        raise Failure("you can't take a snapshot if it's a template\n")
    configuration.check_lock()
    configuration.options["lock"] = "snapshot"
    if name in configuration.snapshots:
        raise Failure(f"snapshot name '{name}' already used\n")
    if not has_feature(host, "snapshot", configuration.options):
        raise Failure("snapshot feature is not available\n")
    for other_name, other in sorted(configuration.snapshots.items()):
        if other.get("parent") == name:
            log.say(f"deleting parent '{name}' reference from '{other_name}' to avoid bogus snapshot cycle.")
            del other["parent"]
    snapshot = copied(configuration.options)
    if memory and host.process(vmid) is not None:
        storage = state_storage(host, configuration.options)
        snapshot["vmstate"] = await save_state(host, configuration.options, vmid, name, storage, log)
        snapshot["runningmachine"] = running_machine(configuration.options)
    snapshot["snapstate"] = "prepare"
    snapshot["snaptime"] = int(host.emulator.world.clock.now().timestamp())
    if description:
        snapshot["description"] = description
    configuration.snapshots[name] = snapshot
    host.write(configuration, log)
    return snapshot


def copied(section: Options) -> Options:
    """The options that a snapshot keeps."""
    return {
        name: value for name, value in section.items() if name not in _NOT_COPIED and options.family(name) != "unused"
    }


async def _take(host: Host, snapshot: Options, name: str, running: bool, done: list[str], log: Log) -> None:
    activate(host, {key: value for key, value in snapshot.items() if key != "vmstate"})
    if running and (state := snapshot.get("vmstate")):
        log.say(f"saving VM state and RAM using storage '{str(state).partition(':')[0]}'")
        await asyncio.sleep(host.emulator.pace.task)
        saved = options.megabytes(snapshot.get("memory"))
        log.say(f"completed saving the VM state in 1s, saved {saved:.2f} MiB")
    for drive in drives_of(snapshot):
        if drive.cdrom:
            continue
        log.say(f"snapshotting 'drive-{drive.key}' ({drive.file})")
        await log.step("snapshot")
        storage, volume_name = host.volumes.parse(drive.file)
        if (volume := host.volumes.find(drive.file)) is None:
            raise Failure(f"volume '{drive.file}' does not exist\n")
        if running and storage.type in FILE_TYPES and volume_name.format == "qcow2":
            log.say("internal qemu snapshot")
        await asyncio.sleep(host.emulator.pace.task)
        volume.snapshots[name] = volume.size
        done.append(drive.key)


async def delete(
    host: Host, vmid: int, name: str, log: Log, *, force: bool = False, only: list[str] | None = None
) -> None:
    """Delete a snapshot; `only` some disks have it when it could not be finished."""
    configuration = host.load(vmid)
    if name not in configuration.snapshots:
        raise Failure(f"snapshot '{name}' does not exist\n")
    expected = "snapshot" if only is not None else "snapshot-delete"
    if only is None:
        activate(host, configuration.snapshots[name])
        async with host.lock(vmid, log):
            configuration = host.load(vmid)
            configuration.check_lock()
            configuration.options["lock"] = expected
            host.write(configuration, log)
    async with host.lock(vmid, log):
        configuration = _held(host, vmid, name, expected)
        if configuration.template:
            raise Failure("you can't delete a snapshot if vm is a template\n")
        snapshot = configuration.snapshots[name]
        snapshot["snapstate"] = "delete"
        host.write(configuration, log)
    if state := snapshot.get("vmstate"):
        await _forced(host.volumes.free(log, str(state)), force, log)
    unused: list[str] = []
    for drive in drives_of(snapshot):
        if drive.cdrom or (only is not None and drive.key not in only):
            continue
        await asyncio.sleep(host.emulator.pace.task)
        await _forced(_delete_of(host, drive.file, name, log), force, log)
        unused.append(drive.file)
    async with host.lock(vmid, log):
        configuration = _held(host, vmid, name, expected)
        parent = configuration.snapshots[name].get("parent")
        for section in (configuration.options, *configuration.snapshots.values()):
            if section.get("parent") == name:
                if parent:
                    section["parent"] = parent
                else:
                    del section["parent"]
        del configuration.snapshots[name]
        del configuration.options["lock"]
        used = {drive.file for drive in configuration.drives()}
        for volume_id in unused:
            if volume_id not in used:
                configuration.add_unused(volume_id)
        host.write(configuration, log)


async def _delete_of(host: Host, volume_id: str, name: str, log: Log) -> None:
    storage, volume_name = host.volumes.parse(volume_id)
    volume = host.volumes.find(volume_id)
    if volume is not None and name in volume.snapshots:
        del volume.snapshots[name]
        return
    if storage.type in FILE_TYPES and volume_name.format == "qcow2":
        path = host.volumes.path(volume_id)
        if volume is None:
            log.say(f"qemu-img: Could not open '{path}': Could not open '{path}': No such file or directory")
        else:
            log.say(f"qemu-img: Could not delete snapshot '{name}': snapshot not found")
        raise Failure(f"command '/usr/bin/qemu-img snapshot -d {name} {path}' failed: exit code 1\n")


async def _forced(work: Any, force: bool, log: Log) -> None:
    try:
        await work
    except Failure as failure:
        if not force:
            raise
        log.say(failure.text.rstrip("\n"))


def _held(host: Host, vmid: int, name: str, lock: str) -> Configuration:
    configuration = host.load(vmid)
    if configuration.lock != lock:
        raise Failure(f"encountered invalid lock, expected '{lock}'\n")
    if name not in configuration.snapshots:
        raise Failure(f"snapshot '{name}' does not exist\n")
    return configuration
