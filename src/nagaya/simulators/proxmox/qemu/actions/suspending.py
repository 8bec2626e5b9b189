"""Machines that stand still: in memory, or with their memory saved to a volume and their process gone."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.snapshotting import save_state, state_storage
from nagaya.simulators.proxmox.tasks.runner import Log


async def suspend(host: Host, vmid: int, log: Log, *, skip_lock: bool = False) -> None:
    """Let a machine stand still."""
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        if not skip_lock and configuration.lock != "backup":
            configuration.check_lock()
        await _set(host, vmid, "paused")


async def resume(host: Host, vmid: int, log: Log, *, skip_lock: bool = False) -> None:
    """Let it go on."""
    async with host.lock(vmid, log):
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
        if configuration.lock == "backup":
            raise Failure("cannot suspend to disk during backup\n")
        if not skip_lock:
            configuration.check_lock()
        configuration.options["lock"] = "suspending"
        day = host.emulator.world.clock.now().strftime("%Y-%m-%d")
        chosen = storage or state_storage(host, configuration.options)
        section = configuration.options
        section["vmstate"] = await save_state(host, section, vmid, f"suspend-{day}", chosen, log)
        host.write(configuration, log)
    log.say(f"State storage '{chosen}'")
    await asyncio.sleep(host.emulator.pace.task)
    async with host.lock(vmid, log):
        configuration = host.load(vmid)
        if configuration.lock != "suspending":
            raise Failure("lock changed unexpectedly\n")
        host.emulator.machines.power_off(host.present(vmid))
        configuration.options["lock"] = "suspended"
        configuration.options["runningmachine"] = "pc-i440fx-10.0+pve0"
        host.write(configuration, log)
