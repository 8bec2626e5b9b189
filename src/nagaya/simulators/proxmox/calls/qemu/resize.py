"""Making disks larger. Every refusal is the task's, even of a disk that is not there."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, only_root, start_task
from nagaya.simulators.proxmox.calls.qemu.update import CHANGED
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.drives import parse_drive
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()

_SIZE = re.compile(r"(\+)?(\d+(?:\.\d+)?)([KMGT])?")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@handlers("PUT", "/nodes/{node}/qemu/{vmid}/resize")
async def resize(call: Call) -> str:
    """Make a disk as large as said, or larger by that much."""
    only_root(call, "skiplock")
    host, vmid = host_of(call), call["vmid"]

    async def work(task: Task) -> None:
        async with host.lock(vmid, task):
            await _resize(call, task)

    return start_task(call, "resize", vmid, work)


async def _resize(call: Call, task: Task) -> None:
    host, vmid, disk = host_of(call), call["vmid"], call["disk"]
    configuration = host.load(vmid)
    if call.get("digest") and call["digest"] != configuration.digest:
        raise Failure(CHANGED)
    if not call.get("skiplock"):
        configuration.check_lock()
    value = configuration.get(disk)
    if not value or (drive := parse_drive(disk, str(value))) is None:
        raise Failure(f"disk '{disk}' does not exist\n")
    storage, _ = host.volumes.parse(drive.file)
    if drive.cdrom:
        raise Failure("you can't resize a cdrom\n")
    call.rights.check(f"/storage/{storage.name}", ["Datastore.AllocateSpace"])
    host.volumes.active(storage.name)
    if (volume := host.volumes.find(drive.file)) is None:
        raise Failure(f"volume '{drive.file}' does not exist\n")
    size = _wanted(call["size"], volume.size)
    if size < volume.size:
        raise Failure("shrinking disks is not supported\n")
    if size == volume.size:
        return
    await task.step("resize")
    await host.volumes.resize(task, drive.file, size, running=host.process(vmid) is not None)
    drive.values["size"] = size
    configuration.options[disk] = drive.text()
    host.write(configuration, task)


def _wanted(text: str, current: int) -> int:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise Failure("internal error\n")
    size = int(float(found[2]) * _UNITS[found[3] or ""]) if "." in found[2] else int(found[2]) * _UNITS[found[3] or ""]
    return current + size if found[1] else size
