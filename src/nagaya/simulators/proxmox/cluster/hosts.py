"""Power and network of hosts: what happens when one goes off, is cut off, or comes back.

With a host die its tasks and machines, at once and without cleaning up: locks stay in files, half-made disks stay on
storages. Files in /etc/pve and shared storages are not the host's, they stay for all. A host that is only cut off keeps
its machines running, where nobody can ask for them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.access.rights import ROOT
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.starting import start as start_machine
from nagaya.simulators.proxmox.state.node import Unreachable
from nagaya.simulators.proxmox.tasks.runner import Task

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator


def power_off(emulator: Emulator, name: str, how: Unreachable = Unreachable.NO_ROUTE) -> None:
    """The power goes, at once. `how` is what others see at its address then."""
    node = emulator.datacenter.nodes[name]
    if not node.online and node.unreachable is not Unreachable.SILENT:
        return
    node.online, node.unreachable = False, how
    emulator.tasks.kill_all(name)
    emulator.machines.host_down(name)
    emulator.power_changed(node)


def cut_off(emulator: Emulator, name: str) -> None:
    """Its network goes; what runs there goes on."""
    node = emulator.datacenter.nodes[name]
    node.online, node.unreachable = False, Unreachable.SILENT
    emulator.power_changed(node)


def reconnect(emulator: Emulator, name: str) -> None:
    """Its network comes back."""
    node = emulator.datacenter.nodes[name]
    if not node.online:
        node.online = True
        emulator.power_changed(node)


def power_on(emulator: Emulator, name: str) -> None:
    """It is there again, at once; machines that are to start with it are started. One that was only cut off is on."""
    node = emulator.datacenter.nodes[name]
    if node.online or any(guest.running and guest.node == name for guest in emulator.datacenter.guests.values()):
        reconnect(emulator, name)
        return
    node.online, node.daemon = True, True
    node.booted = emulator.world.clock.monotonic()
    emulator.power_changed(node)
    _start_machines(emulator, name)


def _start_machines(emulator: Emulator, name: str) -> None:
    """Those that are to start with their host, unless the HA manager looks after them."""
    host = Host(emulator, name)
    wanted = [
        guest.vmid
        for guest in emulator.datacenter.guests.values()
        if guest.node == name and str(guest.config.get("onboot", 0)) == "1" and not guest.template
    ]

    async def work(task: Task) -> None:
        for vmid in sorted(vmid for vmid in wanted if not host.managed(vmid)):
            task.say(f"Starting VM {vmid}")
            started = emulator.tasks.start(name, "qmstart", str(vmid), ROOT, partial(start_machine, host, vmid))
            if started.worker is not None:
                await asyncio.wait([started.worker])
            if started.exitstatus != "OK":
                task.warn(f"start failed: {started.exitstatus}")

    if wanted:
        emulator.tasks.start(name, "startall", "", ROOT, work)


def wake(emulator: Emulator, name: str) -> None:
    """Somebody sent the packet that wakes it; one that is on does not mind."""
    emulator.machines.in_background(_boot(emulator, name))


async def _boot(emulator: Emulator, name: str) -> None:
    await asyncio.sleep(emulator.pace.boot)
    power_on(emulator, name)


async def shut_down(emulator: Emulator, name: str) -> None:
    """Machines are shut down first, then the host goes off."""
    await asyncio.sleep(emulator.pace.shutdown)
    power_off(emulator, name)


async def reboot(emulator: Emulator, name: str) -> None:
    """Off, and on again."""
    await shut_down(emulator, name)
    await _boot(emulator, name)
