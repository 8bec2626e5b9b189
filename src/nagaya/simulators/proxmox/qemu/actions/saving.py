"""Saving the memory of a machine to a volume: whether it can be done, where it goes, and what it is bound to."""

from __future__ import annotations

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.configuration import drives_of
from nagaya.simulators.proxmox.qemu.machine_types import running_type
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.tasks.runner import Log

DRIVER_STATE = 500
"""MiB that the devices of a machine need in a saved state, besides twice its memory."""


def check_memory(section: Options, *, memory: bool) -> None:
    """Refuse to save the memory of a machine with devices whose state cannot be saved."""
    found = ["amd-sev"] if section.get("amd-sev") else []
    found += ["virtiofs"] if any(options.family(name) == "virtiofs" for name in section) else []
    if memory and found:
        raise Failure(f"Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: {', '.join(found)}\n")


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


def running_machine(section: Options) -> str:
    """The type that a machine runs as, which a saved memory is bound to."""
    parts = options.parts("machine", str(section["machine"])) if section.get("machine") else {}
    return running_type(str(parts["type"]) if parts.get("type") else None)
