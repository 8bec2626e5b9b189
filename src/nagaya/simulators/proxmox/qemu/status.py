"""How a machine is, as lists and its own page show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.qemu import boot, options
from nagaya.simulators.proxmox.qemu.networks import networks_of
from nagaya.simulators.proxmox.state.guest import Guest

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

_PRESSURES = tuple(f"pressure{what}{how}" for what in ("cpu", "io", "memory") for how in ("some", "full"))
_SERIAL_PORTS = tuple(f"serial{number}" for number in range(4))
MEBIBYTE = 1 << 20


def status_of(emulator: Emulator, guest: Guest, moment: float | None = None, *, full: bool = False) -> dict[str, Any]:
    """What a host knows of a machine, now or as it was at a moment; with `full` also what the running process says of
    itself."""
    section, process = guest.config, guest.process
    now = emulator.world.clock.monotonic() if moment is None else moment
    cpus = int(section.get("sockets", 1)) * int(section.get("cores", 1))
    shown: dict[str, Any] = {
        "vmid": guest.vmid,
        "status": "stopped" if process is None else "running",
        "name": str(section.get("name") or f"VM {guest.vmid}"),
        "disk": 0,
        "maxdisk": boot.disk_size(section),
        "cpus": int(section.get("vcpus") or min(cpus, emulator.datacenter.nodes[guest.node].cpus)),
        "maxmem": memory_of(guest),
        "uptime": 0,
        "cpu": 0,
        "mem": 0,
        "memhost": 0,
        "netin": 0,
        "netout": 0,
    }
    if section.get("balloon"):
        shown["balloon_min"] = int(section["balloon"]) * MEBIBYTE
        shown["shares"] = int(section.get("shares", 1000))
    if guest.template:
        shown["template"] = 1
    if any(map(section.get, _SERIAL_PORTS)):
        shown["serial"] = 1
    for option in ("lock", "tags"):
        if section.get(option) is not None:
            shown[option] = section[option]
    if process is not None:
        shown["pid"] = process.pid
        shown["uptime"] = int(now - process.started)
        shown |= dict.fromkeys(_PRESSURES, 0)
        if full:
            devices = [f"tap{guest.vmid}i{name.removeprefix('net')}" for name in networks_of(process.config)]
            if devices:
                shown["nics"] = {device: {"netin": 0, "netout": 0} for device in devices}
    if full:
        shown["qmpstatus"] = "stopped" if process is None else process.status
    return shown


def memory_of(guest: Guest) -> int:
    """Bytes that a machine may use."""
    return options.megabytes(guest.config.get("memory")) * MEBIBYTE
