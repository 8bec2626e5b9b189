"""The configuration of a machine: reading it, and changing it now (PUT) or in a task (POST)."""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, only_root, start_task
from nagaya.simulators.proxmox.calls.qemu.update import Update
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu.cloud_init import MASK
from nagaya.simulators.proxmox.tasks.runner import Silence

handlers = Handlers()


@handlers("GET", "/nodes/{node}/qemu/{vmid}/config")
async def config(call: Call) -> dict[str, Any]:
    """The options of a machine, with or without the changes that wait, or as they were at a snapshot."""
    snapshot = call.get("snapshot")
    if snapshot and call.get("current"):
        refused = "cannot use 'snapshot' parameter with 'current'"
        raise ParameterFailure({"snapshot": refused, "current": refused})
    configuration = host_of(call).load(call["vmid"])
    if snapshot:
        if snapshot not in configuration.snapshots:
            raise Failure(f"snapshot '{snapshot}' does not exist\n")
        shown = dict(configuration.snapshots[snapshot])
    else:
        shown = dict(configuration.options) if call.get("current") else configuration.current()
    shown["digest"] = configuration.digest
    if shown.get("cipassword"):
        shown["cipassword"] = MASK
    return shown


@handlers("PUT", "/nodes/{node}/qemu/{vmid}/config")
async def change(call: Call) -> None:
    """Change options, and answer when it is done."""
    await change_now(call, dict(call.parameters))


async def change_now(call: Call, given: dict[str, Any]) -> None:
    """Change options as PUT does."""
    only_root(call, "skiplock")
    update = Update(call, host_of(call), given)
    update.check()
    async with update.host.lock(update.vmid, Silence()):
        await update.run(Silence())


@handlers("POST", "/nodes/{node}/qemu/{vmid}/config")
async def change_in_task(call: Call) -> str | None:
    """Change options in a task; for one that ends soon enough its name is not told, only its failure."""
    only_root(call, "skiplock")
    update = Update(call, host_of(call), dict(call.parameters))
    update.check()

    async def work(task: Any) -> None:
        async with update.host.lock(update.vmid, task):
            await update.run(task)

    upid = start_task(call, "qmconfig", update.vmid, work)
    if not (delay := call.get("background_delay")):
        return upid
    task = call.emulator.tasks.known[upid]
    if task.worker is not None:
        await asyncio.wait([task.worker], timeout=delay)
    if task.running:
        return upid
    if task.exitstatus == "OK" or str(task.exitstatus).startswith("WARNINGS: "):
        return None
    raise Failure(f"failed to update VM {update.vmid}: {task.exitstatus}\n")
