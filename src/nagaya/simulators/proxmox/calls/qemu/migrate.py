"""Machines that move to another host."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import ask_manager, host_of, only_root, start_task
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.qemu.actions.host import Host
from nagaya.simulators.proxmox.qemu.actions.migrating import Migration, Wish, references
from nagaya.simulators.proxmox.qemu.actions.resources import Mapped, local_resources, mapped_resources
from nagaya.simulators.proxmox.qemu.configuration import Configuration
from nagaya.simulators.proxmox.tasks.runner import Task
from nagaya.simulators.proxmox.verification import split_list

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
    mapped = mapped_resources(configuration, datacenter.mappings)
    # PVE names every host here, also those to which nothing holds the machine back.
    hindered = {node: _hindrances(host, configuration, mapped, node) for node in datacenter.nodes}
    del hindered[call.node.name]
    answer: dict[str, Any] = {
        "running": int(running),
        "allowed_nodes": [node for node, found in hindered.items() if not found],
        "not_allowed_nodes": hindered,
        "local_disks": [
            reference.shown()
            for reference in references(configuration).values()
            if _local(host, reference.volume)
            and not reference.shared
            and not (reference.cdrom and reference.volume == "none")
        ],
        "local_resources": local_resources(configuration, datacenter.mappings, running=running),
        "mapped-resources": sorted(mapped),
        "mapped-resource-info": {name: resource.shown() for name, resource in mapped.items()},
        "has-dbus-vmstate": 1,
    }
    if host.managed(vmid):
        answer["dependent-ha-resources"] = []
    return answer


def _hindrances(host: Host, configuration: Configuration, mapped: dict[str, Mapped], node: str) -> dict[str, list[str]]:
    """What is missing on a host."""
    storages = {drive.storage for drive in configuration.drives() if drive.storage}
    missing = sorted(
        name for name in storages if not (storage := host.volumes.storage(name)).enabled or not storage.on(node)
    )
    devices = [name for name, resource in mapped.items() if node not in resource.nodes]
    found = {"unavailable_storages": missing, "unavailable-resources": devices}
    return {kind: names for kind, names in found.items() if names}


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
        told = f"Requesting HA migration for VM {vmid} to node {target}"
        return ask_manager(call, "hamigrate", vmid, told, f"migrate vm:{vmid} {target}", {"migrate": target})
    wish = Wish(target, online, bool(call.get("with-local-disks")), bool(call.get("force")), mapping)

    async def work(task: Task) -> None:
        async with host.migration_lock(vmid, task):
            await Migration(host, vmid, wish, task).run()

    return start_task(call, "qmigrate", vmid, work)


def _mapping(call: Call, host: Host, configuration: Configuration, target: str) -> dict[str, str]:
    """Which storage takes the disks of which; the one for an empty name takes all others."""
    given = call.get("targetstorage")
    if not given:
        _check_storages(host, configuration, target)
        return {}
    mapping = _parsed(str(given))
    if mapping is None:
        _check_storages(host, configuration, target)
        return {}
    call.rights.check_machine(call["vmid"], None, ["VM.Config.Disk"])
    # The one for all others is looked at last.
    for name in (wanted for _, wanted in sorted(mapping.items(), key=lambda pair: pair[0] == "")):
        storage = host.volumes.enabled(name, target)
        call.rights.check(f"/storage/{name}", ["Datastore.AllocateSpace"])
        if "images" not in storage.contents:
            raise Failure(f"storage '{name}' does not support vm images\n")
    return mapping


def _parsed(text: str) -> dict[str, str] | None:
    """Which storage stands for which; None if each stands for itself."""
    mapping: dict[str, str] = {}
    same = False
    for part in split_list(text):
        source, colon, wanted = part.partition(":")
        if part == "1":
            same = True
        elif colon:
            if source in mapping:
                raise _unparsed(f"duplicate mapping for source '{source}'.")
            mapping[source] = wanted
        elif "" in mapping:
            raise _unparsed("default target ID can only be provided once.")
        else:
            mapping[""] = part
    if same and mapping:
        raise _unparsed("identity mapping cannot be combined with other mappings.")
    return None if same else mapping


def _unparsed(why: str) -> ParameterFailure:
    return ParameterFailure({"targetstorage": f"failed to parse storage map: {why}\n"})


def _check_storages(host: Host, configuration: Configuration, target: str) -> None:
    for drive in configuration.drives():
        if drive.storage is None:
            continue
        storage = host.volumes.enabled(drive.storage)
        host.volumes.enabled(drive.storage, target)
        content = host.volumes.parse(drive.file)[1].content
        if content not in storage.contents:
            raise Failure(f"{drive.file}: content type '{content}' is not available on storage '{drive.storage}'\n")
