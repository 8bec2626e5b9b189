"""Machines that move to another host."""

from __future__ import annotations

import asyncio
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of, only_root, start_task
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.migrating import Migration, Wish, local_resources, references
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()

_MIGRATE = "/nodes/{node}/qemu/{vmid}/migrate"


@handlers("GET", _MIGRATE)
async def preconditions(call: Call) -> dict[str, Any]:
    """Where a machine could go, and what holds it."""
    host, vmid, datacenter = host_of(call), call["vmid"], call.emulator.datacenter
    host.check_quorum()
    configuration = host.load(vmid)
    configuration.check_lock()
    running = host.process(vmid) is not None
    allowed: list[str] = []
    refused: dict[str, dict[str, Any]] = {}
    storages = {drive.storage for drive in configuration.drives() if drive.storage}
    for node in datacenter.nodes:
        if node == call.node.name:
            continue
        missing = sorted(
            name for name in storages if not (storage := host.volumes.storage(name)).enabled or not storage.on(node)
        )
        if missing:
            refused[node] = {"unavailable_storages": missing}
        else:
            allowed.append(node)
    answer: dict[str, Any] = {
        "running": int(running),
        "allowed_nodes": allowed,
        "not_allowed_nodes": refused,
        "local_disks": [
            reference.shown()
            for reference in references(configuration).values()
            if _local(host, reference.volume) and not (reference.cdrom and reference.volume == "none")
        ],
        "local_resources": local_resources(configuration),
        "mapped-resources": [],
        "mapped-resource-info": {},
        "has-dbus-vmstate": 1,
    }
    if host.managed(vmid):
        answer["dependent-ha-resources"] = []
    return answer


def _local(host: Host, volume: str) -> bool:
    name = volume.partition(":")[0] if ":" in volume else None
    return name is None or not host.volumes.storage(name).shared


@handlers("POST", _MIGRATE)
async def migrate(call: Call) -> str:
    """Move a machine."""
    host, vmid, target = host_of(call), call["vmid"], call["target"]
    if target == call.node.name:
        raise ParameterFailure({"target": "target is local node."})
    host.check_quorum()
    if target not in call.emulator.datacenter.nodes:
        raise Failure(f"no such cluster node '{target}'\n")
    only_root(call, "force", "migration_type", "migration_network")
    configuration = host.load(vmid)
    configuration.check_lock()
    online = bool(call.get("online"))
    if host.process(vmid) is not None:
        if not online:
            raise Failure("can't migrate running VM without --online\n")
    else:
        online = False
    mapping = _mapping(call, host, configuration, target)
    if host.managed(vmid):
        return _ask_manager(call, vmid, target)
    wish = Wish(target, online, bool(call.get("with-local-disks")), bool(call.get("force")), mapping)

    async def work(task: Task) -> None:
        async with host.migration_lock(vmid, task):
            await Migration(host, vmid, wish, task).run()

    return start_task(call, "qmigrate", vmid, work)


def _mapping(call: Call, host: Host, configuration: Configuration, target: str) -> dict[str, str]:
    """Which storage takes the disks of which; the one for an empty name takes all others."""
    given = call.get("targetstorage")
    if not given or given == "1":
        _check_storages(host, configuration, target)
        return {}
    call.rights.check_machine(call["vmid"], None, ["VM.Config.Disk"])
    mapping: dict[str, str] = {}
    for part in str(given).split(","):
        source, colon, wanted = part.partition(":")
        mapping[source if colon else ""] = wanted if colon else source
    for name in mapping.values():
        storage = host.volumes.enabled(name, target)
        call.rights.check(f"/storage/{name}", ["Datastore.AllocateSpace"])
        if "images" not in storage.contents:
            raise Failure(f"storage '{name}' does not support vm images\n")
    return mapping


def _check_storages(host: Host, configuration: Configuration, target: str) -> None:
    for drive in configuration.drives():
        if drive.storage is None:
            continue
        storage = host.volumes.enabled(drive.storage)
        host.volumes.enabled(drive.storage, target)
        content = host.volumes.parse(drive.file)[1].content
        if content not in storage.contents:
            raise Failure(f"{drive.file}: content type '{content}' is not available on storage '{drive.storage}'\n")


def _ask_manager(call: Call, vmid: int, target: str) -> str:
    async def work(task: Task) -> None:
        task.say(f"Requesting HA migration for VM {vmid} to node {target}")
        await asyncio.sleep(call.emulator.pace.task)
        call.emulator.datacenter.ha.resources[f"vm:{vmid}"]["migrate"] = target

    return start_task(call, "hamigrate", vmid, work)
