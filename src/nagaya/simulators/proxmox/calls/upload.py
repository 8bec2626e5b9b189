"""Files that a client sends. They arrive at the host that was contacted, and go from there to the one in the path."""

from __future__ import annotations

import asyncio

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.storages.files import brought, examine, folder
from nagaya.simulators.proxmox.storages.incoming import place
from nagaya.simulators.proxmox.storages.sources import checksum
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.runner import Task

handlers = Handlers()
_MIB = 1 << 20


@handlers("POST", "/nodes/{node}/storage/{storage}/upload")
async def upload(call: Call) -> Json:
    """Put a file on a storage; one of the same name is replaced."""
    emulator, here = call.emulator, call.node
    target = here.name if call["node"] == "localhost" else str(call["node"])
    storage = Volumes(emulator, here.name).enabled(call["storage"], target)
    if storage.type not in FILE_TYPES:
        raise Failure(f"can't upload to storage type '{storage.type}'\n")
    temporary = call.get("tmpfilename")
    if not temporary:
        raise Failure("missing temporary file name\n")
    file = brought(call["content"], call["filename"])
    if file.content not in storage.contents:
        raise Failure(f"storage '{storage.name}' does not support '{file.content}' content\n")
    destination = f"{folder(storage, file.content)}/{file.name}"
    if target == here.name:
        Volumes(emulator, target).active(storage.name)
        command = f"cp -- {temporary} {destination}"
    else:
        there = _other(call, target)
        _activate(there, storage.name)
        command = (
            f"/usr/bin/scp -o BatchMode=yes -o HostKeyAlias={target} -p -- {temporary} [{there.address}]:{destination}"
        )
    data, algorithm = call.body, call.get("checksum-algorithm")

    async def work(task: Task) -> None:
        task.say(f"starting file import from: {temporary}")
        if algorithm:
            got = checksum(algorithm, data, {})
            if got != call["checksum"].lower():
                task.say("calculating checksum...")
                raise Failure(f"checksum mismatch: got '{got}' != expect '{call['checksum']}'\n")
            task.say("calculating checksum...OK, checksum verified")
        examine(file, temporary, data, task)
        task.say(f"target node: {call['node']}")
        task.say(f"target file: {destination}")
        task.say(f"file size is: {len(data)}")
        task.say(f"command: {command}")
        await task.step("copy")
        await asyncio.sleep(emulator.pace.upload_per_mib * len(data) / _MIB)
        if not emulator.datacenter.nodes[target].online:
            raise Failure(f"import failed: exit code {1 if target == here.name else 255}\n")
        volumes = Volumes(emulator, target)
        replaced = volumes.find(f"{storage.name}:{file.content}/{file.name}")
        if len(data) > volumes.room(storage) + (replaced.size if replaced is not None else 0):
            if replaced is not None:
                del emulator.datacenter.volumes[replaced.node, replaced.id]
            said = f"cp: error writing '{destination}': No space left on device"
            raise Failure(f"import failed: {said if target == here.name else 'exit code 1'}\n")
        place(volumes, storage, file, data, len(data))
        task.say("finished file import successfully")

    return str(emulator.tasks.start(here.name, "imgcopy", "", call.caller.id, work).upid)


def _other(call: Call, name: str) -> Node:
    node = call.emulator.datacenter.nodes.get(name)
    if node is None:
        lookup = f"failed to get address info for: {name}: Name or service not known"
        raise Failure(f"hostname lookup '{name}' failed - {lookup}\n")
    return node


def _activate(node: Node, storage: str) -> None:
    if node.online:
        return
    ssh = f"/usr/bin/ssh -o 'BatchMode=yes' -o 'HostKeyAlias={node.name}' {node.address} --"
    command = f"{ssh} /usr/sbin/pvesm status --storage {storage}"
    raise Failure(
        f"can't activate storage '{storage}' on node '{node.name}': command '{command}' failed: exit code 255\n\n"
    )
