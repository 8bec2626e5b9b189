"""Removing old backups by the rules of a storage, or by those that a call brings."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.simulators.proxmox.storages.pruning import marks
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()
_PATH = "/nodes/{node}/storage/{storage}/prunebackups"


@handlers("GET", _PATH)
async def planned(call: Call) -> Json:
    """What would be kept and what removed."""
    return _plan(call)


@handlers("DELETE", _PATH)
async def prune(call: Call) -> Json:
    """Remove what is not kept."""
    path = f"/storage/{call['storage']}"
    if call.get("vmid"):
        call.rights.check(path, ["Datastore.AllocateSpace"])
        call.rights.check(f"/vms/{call['vmid']}", ["VM.Backup"])
    else:
        call.rights.check(path, ["Datastore.Allocate"])
    volumes = Volumes(call.emulator, call.node.name)

    async def work(task: Task) -> None:
        for row in _plan(call):
            if row["mark"] == "remove":
                task.say(f"removing backup '{row['volid']}'")
                await volumes.free(task, row["volid"])

    id = call["storage"] if not call.get("vmid") else f"{call['vmid']}@{call['storage']}"
    return str(call.emulator.tasks.start(call.node.name, "prunebackups", id, call.caller.id, work).upid)


def _plan(call: Call) -> list[dict[str, Any]]:
    volumes = Volumes(call.emulator, call.node.name)
    storage = volumes.storage(call["storage"])
    if "backup" not in storage.contents:
        raise Failure(f"storage '{storage.name}' does not support backups\n")
    rules = call.get("prune-backups") or storage.options.get("prune-backups")
    if not rules:
        raise Failure(f"no prune-backups options configured for storage '{storage.name}'\n")
    volumes.active(storage.name)
    keep = dict(part.partition("=")[::2] for part in str(rules).split(","))
    groups: dict[tuple[str, int], list[Volume]] = defaultdict(list)
    for volume in volumes.on(storage):
        if volume.content == "backup" and volume.vmid is not None:
            kind = "lxc" if "-lxc-" in volume.name else "qemu"
            if call.get("vmid") in (None, volume.vmid) and call.get("type") in (None, kind):
                groups[kind, volume.vmid].append(volume)
    rows = []
    for (kind, vmid), members in groups.items():
        decided = marks(members, keep)
        rows += [
            {"volid": volume.id, "ctime": volume.ctime, "type": kind, "vmid": vmid, "mark": decided[volume.id]}
            for volume in members
        ]
    return sorted(rows, key=lambda row: (row["type"], row["vmid"], row["ctime"]))
