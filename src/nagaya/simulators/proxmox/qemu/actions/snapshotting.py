"""Snapshots: states of a machine to which it can return.

The file is not held all the time, for taking one is slow; a lock in the file itself keeps others off. A snapshot that
could not be finished stays in the file, marked, until somebody deletes it by force.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.guests.backend import Agent, AgentError
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.starting import start_locked
from nagaya.simulators.proxmox.qemu.actions.stopping import agent_answers, agent_enabled, stop_locked
from nagaya.simulators.proxmox.qemu.configuration import Configuration, drives_of
from nagaya.simulators.proxmox.qemu.drives import parse_drive
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.tasks.runner import Log, interruptible

_NOT_COPIED = frozenset({"snapstate", "snaptime", "vmstate", "lock", "digest", "description"})
DRIVER_STATE = 500
"""MiB that the devices of a machine need in a saved state, besides twice its memory."""


def has_feature(host: Host, feature: str, section: Options, snapshot: str | None = None) -> bool:
    """Whether all disks can do something."""
    return all(
        host.volumes.has_feature(feature, drive.file, snapshot) for drive in drives_of(section) if not drive.cdrom
    )


def state_storage(host: Host, section: Options) -> str:
    """Where the memory of a machine is saved."""
    if section.get("vmstatestorage"):
        return str(section["vmstatestorage"])
    chosen: dict[bool, str] = {}
    for name in sorted({drive.storage for drive in drives_of(section) if not drive.cdrom and drive.storage}):
        storage = host.volumes.storage(name)
        if storage.shared not in chosen or storage.type in FILE_TYPES:
            chosen[storage.shared] = name
    return chosen.get(True) or chosen.get(False) or "local"


async def save_state(host: Host, section: Options, vmid: int, name: str, storage: str, log: Log) -> str:
    """Make the volume that takes the memory of a machine."""
    size = (options.megabytes(section.get("memory")) * 2 + DRIVER_STATE) << 20
    ending = ".raw" if host.volumes.storage(storage).type in FILE_TYPES else ""
    volume = await host.volumes.allocate(log, storage, vmid, "raw", size, f"vm-{vmid}-state-{name}{ending}")
    return volume.id


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
        if not _freezes(configuration.options):
            log.say("skipping guest filesystem freeze - disabled in VM options")
        elif (frozen := await agent_answers(host, guest)) is None:
            log.say("skipping guest filesystem freeze - agent configured but not running?")
        else:
            await frozen.ask("fsfreeze-freeze", {})
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
            await _thaw(frozen, log)
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


def _freezes(section: Options) -> bool:
    if not agent_enabled(section):
        return False
    parts = options.parts("agent", str(section["agent"]))
    return parts.get("guest-fsfreeze", True) is not False


async def _thaw(agent: Agent, log: Log) -> None:
    try:
        await agent.ask("fsfreeze-thaw", {})
    except AgentError as error:
        log.say(f"guest-fsfreeze-thaw problems - {error.description}")


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
    for other in configuration.snapshots.values():
        if other.get("parent") == name:
            del other["parent"]
    snapshot = copied(configuration.options)
    if memory and host.process(vmid) is not None:
        storage = state_storage(host, configuration.options)
        snapshot["vmstate"] = await save_state(host, configuration.options, vmid, name, storage, log)
        snapshot["runningmachine"] = "pc-i440fx-10.0+pve0"
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
        host.volumes.active(storage.name)
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
        if (volume := host.volumes.find(drive.file)) is not None:
            volume.snapshots.pop(name, None)
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


async def rollback(host: Host, vmid: int, name: str, log: Log) -> None:
    """Return to a snapshot."""
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        snapshot = _wanted(configuration, name)
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
            raise Failure(f"can't rollback, snapshot '{name}' does not exist on '{drive.file}'\n")
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
        configuration.pending, configuration.deletions = {}, {}
        host.write(configuration, log)
        if snapshot.get("vmstate"):
            await start_locked(host, vmid, log)


def _wanted(configuration: Configuration, name: str) -> Options:
    if configuration.template:
        raise Failure("you can't rollback if vm is a template\n")
    if name not in configuration.snapshots:
        raise Failure(f"snapshot '{name}' does not exist\n")
    snapshot = configuration.snapshots[name]
    if state := snapshot.get("snapstate"):
        raise Failure(f"unable to rollback to incomplete snapshot (snapstate = {state})\n")
    return snapshot
