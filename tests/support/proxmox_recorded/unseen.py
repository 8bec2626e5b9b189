"""What happened between recorded cases without being recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.tasks.runner import Task
from nagaya.simulators.proxmox.verification import parse_size
from support.proxmox_lab import ProxmoxLab

Before = Callable[[ProxmoxLab], Awaitable[object]]
Parameters = Mapping[str, object]


def asked(method: str, path: str, parameters: Parameters | None = None) -> Before:
    """A call that root@pam made with success."""
    return lambda lab: lab.data(method, path, parameters)


def done(method: str, path: str, parameters: Parameters | None = None) -> Before:
    """A call of root@pam that set a task going, and the end of the task."""
    return lambda lab: lab.task(method, path, parameters)


def passed(seconds: float) -> Before:
    """Time."""
    return lambda lab: asyncio.sleep(seconds)


def both(*parts: Before) -> Before:
    """One after the other."""

    async def all_of(lab: ProxmoxLab) -> None:
        for part in parts:
            await part(lab)

    return all_of


def locked(vmid: int, lock: str | None) -> Before:
    """A lock that somebody wrote into the file of a machine, or took away."""

    async def write(lab: ProxmoxLab) -> None:
        config = lab.datacenter.guests[vmid].config
        config.pop("lock", None)
        if lock is not None:
            config["lock"] = lock

    return write


def newest_task(theirs: str, kind: str) -> Before:
    """The recorded task of that kind is the one that was last started here."""

    async def stand_in(lab: ProxmoxLab) -> None:
        found = [task for task in lab.emulator.tasks.known.values() if task.upid.type == kind]
        lab.stand_ins[theirs] = str(found[-1].upid)

    return stand_in


async def larger_guest(lab: ProxmoxLab) -> None:
    """Machine 400 had its disk made larger in another file."""
    await lab.task("PUT", "/nodes/pve1/qemu/400/resize", {"disk": "scsi0", "size": "+1M"})


def task_of(kind: str, id: str, user: str = "root@pam", end: Callable[[Task], None] = lambda task: None) -> Before:
    """A task of which nothing is left but how it ended."""

    async def run(lab: ProxmoxLab) -> Task:
        async def work(task: Task) -> None:
            end(task)

        return await lab.ended(str(lab.emulator.tasks.start("pve1", kind, id, user, work).upid))

    return run


def failing(failure: Failure) -> Callable[[Task], None]:
    """It ended with an error."""

    def end(task: Task) -> None:
        raise failure

    return end


def warning(task: Task) -> None:
    """It ended with two warnings."""
    task.warn("one")
    task.warn("two")


def machine(vmid: int, name: str | None = None, **options: object) -> Before:
    """A machine that was made in another file, with a disk unless it has none."""

    async def put(lab: ProxmoxLab) -> None:
        config: dict[str, Any] = {"kvm": 0, "memory": "64", "boot": " ", **options}
        if name is not None:
            config["name"] = name
        for drive in ("scsi0", "scsi1"):
            if drive in options:
                volume = str(options[drive]).partition(",")[0]
                storage, _, volume_name = volume.partition(":")
                size = parse_size(str(options[drive]).rpartition("size=")[2]) or 0
                found = Volume(storage, volume_name, "images", "qcow2", size, 1794783545, "pve1", vmid, 331776)
                lab.datacenter.volumes["pve1", volume] = found
                config["boot"] = "order=scsi0"
        lab.datacenter.guests[vmid] = Guest(vmid, "pve1", config)

    return put
