"""Machines that stand still: in memory, or with their memory saved to a volume and their process gone."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.saving import (
    check_memory,
    running_machine,
    save_state,
    state_storage,
)
from nagaya.simulators.proxmox.tasks.runner import Log


async def suspend(host: Host, vmid: int, log: Log, *, skip_lock: bool = False) -> None:
    """Let a machine stand still."""
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        if not skip_lock and configuration.lock != "backup":
            configuration.check_lock()
        await _set(host, vmid, "paused")


async def resume(host: Host, vmid: int, log: Log, *, skip_lock: bool = False) -> None:
    """Let it go on; one that runs is left alone, whatever it is locked for."""
    async with host.lock(vmid, log):
        process = host.process(vmid)
        if process is not None and process.status == "running":
            return
        configuration = host.load(vmid)
        if not skip_lock and configuration.lock != "backup":
            configuration.check_lock()
        await _set(host, vmid, "running")


async def _set(host: Host, vmid: int, status: str) -> None:
    process = host.process(vmid)
    if process is None:
        raise Failure(f"VM {vmid} not running\n")
    await asyncio.sleep(host.emulator.pace.task)
    process.status = status
    host.emulator.machines.backend.pause(vmid, status == "paused")


async def suspend_to_disk(
    host: Host, vmid: int, log: Log, *, storage: str | None = None, skip_lock: bool = False
) -> None:
    """Save the memory of a machine and end it; its next start goes on from there."""
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        section = configuration.options
        if not skip_lock and configuration.lock != "backup":
            configuration.check_lock()
        if configuration.lock == "backup":
            raise Failure("cannot suspend to disk during backup\n")
        check_memory(section, memory=True)
        section["lock"] = "suspending"
        day = host.emulator.world.clock.now().strftime("%Y-%m-%d")
        chosen = storage or state_storage(host, section)
        section["vmstate"] = await save_state(host, section, vmid, f"suspend-{day}", chosen, log)
        section["runningmachine"] = running_machine(section)
        host.write(configuration, log)
    await asyncio.sleep(host.emulator.pace.task)
    log.say("State saved, quitting")
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        if configuration.lock != "suspending":
            raise Failure("lock changed unexpectedly\n")
        host.emulator.machines.power_off(host.present(vmid))
        configuration.options["lock"] = "suspended"
        host.write(configuration, log)
