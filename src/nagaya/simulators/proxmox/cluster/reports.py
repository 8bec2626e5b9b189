"""What hosts tell each other of themselves, their machines and their storages, every ten seconds.

Which machines there are, where, and whether they are locked is known at once in the whole cluster; how they are is
known from these reports. So a machine that was just made has neither name nor status, and the machines of a host that
went off look for five minutes as they last did. A report is found by what it is about, not by who sent it: a machine
that was moved keeps the last word of its old host until the new one speaks.

A report holds the machines themselves as they were at its moment. What is told of them is worked out when somebody
asks: hosts report far more often than anybody looks.

Reporting begins with the first look at reports, as if all had just reported; from then on it goes by the clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.qemu.status import memory_of
from nagaya.simulators.proxmox.qemu.status import status_of as machine_status
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.storages.usage import status_of as storage_status
from nagaya.simulators.proxmox.storages.usage import usage_of

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

Report = dict[str, Any]
_MACHINE = ("uptime", "name", "status", "maxmem", "mem", "maxdisk", "disk", "netin", "netout", "cpu", "memhost")


def ensure(emulator: Emulator) -> None:
    """Let the hosts report from now on, if they do not yet."""
    if any(node.seen is not None for node in emulator.datacenter.nodes.values()):
        return
    for node in emulator.datacenter.nodes.values():
        if node.online:
            report(emulator, node)
    emulator.machines.in_background(_report_for_ever(emulator))


async def _report_for_ever(emulator: Emulator) -> None:
    while True:
        await asyncio.sleep(emulator.pace.broadcast)
        for node in emulator.datacenter.nodes.values():
            if node.online:
                report(emulator, node)


def report(emulator: Emulator, node: Node) -> None:
    """A host tells the others how it is."""
    datacenter = emulator.datacenter
    node.seen = emulator.world.clock.monotonic()
    here = [guest for guest in datacenter.guests.values() if guest.node == node.name]
    machines = {guest.vmid: replace(guest, config=dict(guest.config)) for guest in here}
    storages = {}
    for storage in datacenter.storages.values():
        if storage.enabled and storage.on(node.name) and storage.reachable:
            usage = usage_of(datacenter, storage, node.name)
            storages[storage.name] = {"maxdisk": usage.total, "disk": usage.used}
    node.report = {"node": _node(emulator, node), "machines": machines, "storages": storages}


def machine(emulator: Emulator, vmid: int) -> Report | None:
    """The newest word on a machine that still counts, whoever gave it."""
    known = [
        (node.seen or 0.0, node.report["machines"][vmid])
        for node in emulator.datacenter.nodes.values()
        if _counts(emulator, node) and vmid in node.report["machines"]
    ]
    if not known:
        return None
    moment, guest = max(known, key=lambda word: word[0])
    return _machine(emulator, guest, moment)


def of_host(emulator: Emulator, node: Node) -> Report | None:
    """What a host last said of itself, if it still counts."""
    return node.report["node"] if _counts(emulator, node) else None


def storage(emulator: Emulator, node: Node, name: str) -> Report | None:
    """What a host last said of a storage, if it still counts."""
    return node.report["storages"].get(name) if _counts(emulator, node) else None


def _counts(emulator: Emulator, node: Node) -> bool:
    if node.seen is None or not node.report:
        return False
    return emulator.world.clock.monotonic() - node.seen < emulator.pace.forgotten


def _machine(emulator: Emulator, guest: Guest, moment: float) -> Report:
    status = machine_status(emulator, guest, moment)
    return {
        **{name: status[name] for name in _MACHINE},
        "template": int(guest.template),
        "maxcpu": status["cpus"],
        "diskread": 0,
        "diskwrite": 0,
    }


def _node(emulator: Emulator, node: Node) -> Report:
    root = root_disk(emulator, node)
    return {
        "uptime": uptime(emulator, node),
        "cpu": 0.01,
        "mem": memory_used(emulator, node),
        "disk": root["used"],
        "level": "",
        "maxcpu": node.cpus,
        "maxmem": node.memory,
        "maxdisk": root["total"],
    }


def uptime(emulator: Emulator, node: Node) -> int:
    """Seconds since a host was switched on."""
    return int(emulator.world.clock.monotonic() - node.booted)


def memory_used(emulator: Emulator, node: Node) -> int:
    """By the host itself and the machines that run there."""
    running = (guest for guest in emulator.datacenter.guests.values() if guest.node == node.name and guest.running)
    used = node.foreign_memory + sum(memory_of(guest) for guest in running)
    return min(used, node.memory)


def root_disk(emulator: Emulator, node: Node) -> dict[str, int]:
    """The disk of the host itself: that of `local`, if there is one."""
    local = emulator.datacenter.storages.get("local")
    if local is None:
        return {"total": 100 << 30, "used": 8 << 30}
    status = storage_status(emulator.datacenter, local, node.name)
    return {"total": status["total"] or local.capacity, "used": status["used"]}
