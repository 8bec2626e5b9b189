"""What a machine's storages can do for it."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.actions.snapshotting import has_feature
from nagaya.simulators.proxmox.qemu.configuration import drives_of

handlers = Handlers()


@handlers("GET", "/nodes/{node}/qemu/{vmid}/feature")
async def feature(call: Call) -> dict[str, Any]:
    """Whether snapshots, linked clones or copies are possible, and which hosts have all disks."""
    host, vmid, snapshot = host_of(call), call["vmid"], call.get("snapname")
    host.present(vmid)
    configuration = host.load(vmid)
    section = configuration.options
    if snapshot:
        if snapshot not in configuration.snapshots:
            raise Failure(f"snapshot '{snapshot}' does not exist\n")
        section = configuration.snapshots[snapshot]
    nodes = set(call.emulator.datacenter.nodes)
    for drive in drives_of(section):
        if drive.storage is None:
            continue
        storage = host.volumes.storage(drive.storage)
        if not storage.enabled:
            nodes = set()
        elif storage.options.get("nodes"):
            nodes = {node for node in nodes if storage.on(node)}
        elif not storage.shared:
            nodes &= {call.node.name}
    return {"hasFeature": int(has_feature(host, call["feature"], section, snapshot)), "nodes": sorted(nodes)}
