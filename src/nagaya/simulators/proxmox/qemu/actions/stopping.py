"""Stopping machines: pulling the plug, asking the system to shut down, and what is done once a machine is off."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.guests.backend import Agent, AgentError
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.changing import apply
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.starting import start_locked
from nagaya.simulators.proxmox.state.guest import Guest, Options
from nagaya.simulators.proxmox.tasks.runner import Log, Silence

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

PATIENCE = 60
"""Seconds to wait for a machine to go off, when nobody said how long."""
LAST_WORDS = 10
"""Seconds that a process has between being asked to end and being killed."""


def agent_enabled(section: Options) -> bool:
    """Whether the configuration says that there is an agent."""
    given = section.get("agent")
    return given is not None and bool(options.parts("agent", str(given)).get("enabled"))


async def agent_answers(host: Host, guest: Guest, log: Log | None = None) -> Agent | None:
    """The agent, if it answers; finding out that it does not takes its time."""
    agent = host.emulator.machines.agent(guest)
    if agent is not None:
        return agent
    await asyncio.sleep(host.emulator.pace.agent_silence)
    if log is not None:
        log.say(f"QEMU Guest Agent is not running - VM {guest.vmid} qga command 'guest-ping' failed - got timeout")
    return None


async def stop(
    host: Host,
    vmid: int,
    log: Log,
    *,
    shutdown: bool = False,
    force: bool = False,
    timeout: int | None = None,
    skip_lock: bool = False,
) -> None:
    """Stop a machine, or ask it to shut down; `force` ends it when it does not go by itself."""
    async with host.lock(vmid, log):
        await stop_locked(host, vmid, log, shutdown=shutdown, force=force, timeout=timeout, skip_lock=skip_lock)


async def stop_locked(
    host: Host,
    vmid: int,
    log: Log,
    *,
    shutdown: bool = False,
    force: bool = False,
    timeout: int | None = None,
    skip_lock: bool = False,
) -> None:
    """Stop a machine whose file the caller holds."""
    guest = host.present(vmid)
    if guest.process is None:
        return
    configuration = host.load(vmid)
    if not skip_lock:
        configuration.check_lock()
    if timeout is None and shutdown and configuration.options.get("startup"):
        down = int(options.listed(str(configuration.options["startup"])).get("down") or 0)
        timeout = down or None
    await log.step("stop")
    if shutdown:
        await _ask(host, guest, configuration.options, log)
        if not await _gone(guest, PATIENCE if timeout is None else timeout):
            if not force:
                raise Failure("VM quit/powerdown failed - got timeout\n")
            await _end(host, guest, log, late=True)
    else:
        await _end(host, guest, log, late=timeout is not None and timeout <= 1)
    await _apply_pending(host, vmid, log)


async def _end(host: Host, guest: Guest, log: Log, *, late: bool) -> None:
    """End the process. It takes a moment, which is too long for who has no second to spare: `late` says so."""
    if late:
        log.say("VM still running - terminating now with SIGTERM")
    await asyncio.sleep(host.emulator.pace.stop)
    if guest.process is not None:
        host.emulator.machines.power_off(guest)


async def _ask(host: Host, guest: Guest, section: Options, log: Log) -> None:
    agent = await agent_answers(host, guest, log) if agent_enabled(section) else None
    if agent is None:
        host.emulator.machines.backend.press_power_button(guest.vmid)
        return
    try:
        await agent.ask("shutdown", {})
    except AgentError:
        # PVE does not look at the answer: that the machine stays on shows when time is up.
        return


async def _gone(guest: Guest, timeout: int) -> bool:
    """Look once a second whether the machine is off; what happens in the last of them is not seen any more."""
    for _ in range(timeout):
        if guest.process is None:
            return True
        await asyncio.sleep(1)
    return False


async def _apply_pending(host: Host, vmid: int, log: Log) -> None:
    """Changes that waited for the machine to be off. That they cannot be made is no reason not to have stopped it."""
    try:
        configuration = host.load(vmid)
        await apply(host, configuration, log)
    except Failure as failure:
        log.say(failure.text.rstrip("\n"))


async def reboot(host: Host, vmid: int, log: Log, timeout: int | None = None) -> None:
    """Shut a machine down and start it again; nobody waits for the start."""
    async with host.lock(vmid, log):
        if host.process(vmid) is None:
            return
        await stop_locked(host, vmid, log, shutdown=True, timeout=timeout)
    host.emulator.machines.in_background(_start_again(host, vmid))


async def _start_again(host: Host, vmid: int) -> None:
    try:
        async with host.lock(vmid, Silence(), timeout=60):
            await start_locked(host, vmid, Silence())
    except Failure:
        # The one that starts it after a reboot only writes to the system's log, which nobody can read here.
        return


async def clean_up(emulator: Emulator, node: str, vmid: int) -> None:
    """A machine has switched itself off: make the changes that waited for it."""
    host = Host(emulator, node)
    try:
        async with host.lock(vmid, Silence(), timeout=60):
            if host.guest(vmid) is not None and host.process(vmid) is None:
                await _apply_pending(host, vmid, Silence())
    except Failure:
        # Whoever holds the file so long makes the changes with the next start.
        return
