"""Snapshots of a machine."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, start_machine, start_task
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions import rolling_back, snapshotting
from nagaya.simulators.proxmox.qemu.actions.saving import check_memory
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.tasks.runner import Silence, Task

handlers = Handlers()

_ONE = "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}"


@handlers("GET", "/nodes/{node}/qemu/{vmid}/snapshot")
async def snapshots(call: Call) -> list[dict[str, Any]]:
    """All of them, and the present."""
    host = host_of(call)
    configuration = host.load(call["vmid"])
    rows = []
    for name, section in configuration.snapshots.items():
        row = {
            "name": name,
            "snaptime": section.get("snaptime", 0),
            "vmstate": 1 if section.get("vmstate") else 0,
            "description": section.get("description", ""),
        }
        rows.append(row | {key: section[key] for key in ("parent", "snapstate") if section.get(key)})
    current: dict[str, Any] = {
        "name": "current",
        "digest": configuration.digest,
        "running": int(host.process(call["vmid"]) is not None),
        "description": "You are here!",
    }
    if parent := configuration.get("parent"):
        current["parent"] = parent
    return [*rows, current]


@handlers("POST", "/nodes/{node}/qemu/{vmid}/snapshot")
async def take(call: Call) -> str:
    """Take one."""
    name = call["snapname"]
    for reserved in ("current", "pending"):
        if name == reserved or name.lower() == "pending" == reserved:
            raise Failure(f"unable to use snapshot name '{reserved}' (reserved name)\n")
    host, vmid = host_of(call), call["vmid"]
    check_memory(host.load(vmid).options, memory=bool(call.get("vmstate")))

    async def work(task: Task) -> None:
        memory, description = bool(call.get("vmstate")), call.get("description")
        await snapshotting.create(host, vmid, name, task, memory=memory, description=description)

    return start_task(call, "qmsnapshot", vmid, work)


def _found(call: Call, configuration: Configuration) -> dict[str, Any]:
    name = call["snapname"]
    if name not in configuration.snapshots:
        raise Failure(f"snapshot '{name}' does not exist\n")
    return configuration.snapshots[name]


@handlers("GET", f"{_ONE}/config")
async def shown(call: Call) -> dict[str, Any]:
    """The options at the time of one, with the password as it is kept: PVE hides it everywhere else."""
    return dict(_found(call, host_of(call).load(call["vmid"])))


@handlers("PUT", f"{_ONE}/config")
async def describe(call: Call) -> None:
    """Give one another description."""
    if call.get("description") is None:
        return
    host = host_of(call)
    async with host.lock(call["vmid"], Silence()):
        configuration = host.load(call["vmid"])
        configuration.check_lock()
        _found(call, configuration)["description"] = call["description"]
        host.write(configuration, Silence())


@handlers("POST", f"{_ONE}/rollback")
async def rollback(call: Call) -> str:
    """Return to one."""
    host, vmid = host_of(call), call["vmid"]
    if call.get("start"):
        call.rights.check(f"/vms/{vmid}", ["VM.PowerMgmt"])

    async def work(task: Task) -> None:
        async with host.migration_lock(vmid, task):
            await rolling_back.rollback(host, vmid, call["snapname"], task)
            if call.get("start") and host.process(vmid) is None:
                start_machine(call, vmid)

    return start_task(call, "qmrollback", vmid, work)


@handlers("DELETE", _ONE)
async def delete(call: Call) -> str:
    """Delete one."""
    host, vmid, force = host_of(call), call["vmid"], bool(call.get("force"))

    async def work(task: Task) -> None:
        if force:
            await snapshotting.delete(host, vmid, call["snapname"], task, force=True)
            return
        held = False
        try:
            async with host.migration_lock(vmid, task):
                held = True
                await snapshotting.delete(host, vmid, call["snapname"], task)
        except Failure:
            if held:
                raise
            raise Failure("Failed to obtain guest migration lock - replication running?\n") from None

    return start_task(call, "qmdelsnapshot", vmid, work)
