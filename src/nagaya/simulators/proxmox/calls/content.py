"""What lies on a storage: lists, single volumes, making and removing disks."""

from __future__ import annotations

import asyncio
import re

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.storages.listing import accessible, check_access, described, listed
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, split_id
from nagaya.simulators.proxmox.storages.volumes import Volumes
from nagaya.simulators.proxmox.tasks.listing import status_type
from nagaya.simulators.proxmox.tasks.runner import Silence, Task

handlers = Handlers()
_ALL = "/nodes/{node}/storage/{storage}/content"
_ONE = "/nodes/{node}/storage/{storage}/content/{volume}"
_SIZE = re.compile(r"(\d+)([MG]?)")
_EXTENSION = re.compile(r".*\.(raw|qcow2|vmdk)")
KIBIBYTE = 1024
_FACTORS = {"": KIBIBYTE, "M": KIBIBYTE**2, "G": KIBIBYTE**3}


@handlers("GET", _ALL)
async def content(call: Call) -> Json:
    """What the caller may see of it."""
    volumes = _volumes(call)
    storage = volumes.active(call["storage"])
    rows = listed(volumes, storage, call.get("content"), call.get("vmid"))
    return [row for row in rows if accessible(volumes, call.rights, row["volid"])]


@handlers("POST", _ALL)
async def allocate(call: Call) -> Json:
    """Make an empty disk. Nobody asks whether the storage is meant for disks, or the name fits the machine."""
    name, format = call["filename"], call.get("format")
    if (size := _SIZE.fullmatch(call["size"])) is None:
        raise ParameterFailure({"size": f"unable to parse size '{call['size']}'"})
    if (found := _EXTENSION.fullmatch(name)) is not None:
        if format and format != found[1]:
            raise ParameterFailure({"format": f"different storage formats ({format} != {found[1]})"})
        format = found[1]
    volume = await _volumes(call).allocate(
        Silence(), call["storage"], call["vmid"], format, int(size[1]) * _FACTORS[size[2]], name
    )
    return volume.id


@handlers("GET", _ONE)
async def volume(call: Call) -> Json:
    """One of them."""
    volumes = _volumes(call)
    volume_id = _volume_id(call)
    check_access(volumes, call.rights, volume_id)
    return described(volumes, volume_id)


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Give a backup notes, or keep it from being removed."""
    volumes = _volumes(call)
    volume_id = _volume_id(call)
    check_access(volumes, call.rights, volume_id)
    storage, name = volumes.parse(volume_id)
    for attribute in ("notes", "protected"):
        if call.get(attribute) is None:
            continue
        if storage.type not in FILE_TYPES:
            raise Failure(f"attribute '{attribute}' is not supported for storage type '{storage.type}'\n")
        if name.content != "backup":
            what = "can have notes" if attribute == "notes" else f"support attribute '{attribute}'"
            raise Failure(f"only backups {what}\n")
        if (found := volumes.find(volume_id)) is None:
            raise Failure(f"volume '{volume_id}' does not exist\n")
        if attribute == "notes":
            found.notes = call["notes"]
        else:
            found.protected = bool(call["protected"])
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Remove it, whoever uses it. With `delay` the call waits for that."""
    volumes = _volumes(call)
    volume_id = _volume_id(call)
    storage, name = volumes.parse(volume_id)
    path = f"/storage/{storage.name}"
    if name.content == "backup" and name.vmid is not None:
        call.rights.check(path, ["Datastore.AllocateSpace"])
        call.rights.check(f"/vms/{name.vmid}", ["VM.Backup"])
    else:
        call.rights.check(path, ["Datastore.Allocate"])

    async def work(task: Task) -> None:
        found = volumes.find(volume_id)
        if found is not None and found.protected:
            raise Failure("cannot remove protected volume '" + volume_id.partition(":")[2] + f"' on '{storage.name}'\n")
        await volumes.free(task, volume_id)
        task.say(f"Removed volume '{volume_id}'")

    id = storage.name if name.vmid is None else f"{name.vmid}@{storage.name}"
    task = call.emulator.tasks.start(call.node.name, "imgdel", id, call.caller.id, work)
    if call.get("delay") and task.worker is not None:
        await asyncio.wait([task.worker], timeout=call["delay"])
        if task.exitstatus is not None:
            if status_type(task.exitstatus) in ("error", "unknown"):
                raise Failure(f"{task.exitstatus}\n")
            return None
    return str(task.upid)


def _volumes(call: Call) -> Volumes:
    return Volumes(call.emulator, call.node.name)


def _volume_id(call: Call) -> str:
    """The volume that is meant; the storage may stand only in the path."""
    given = str(call["volume"])
    if ":" not in given:
        return f"{call['storage']}:{given}"
    parts = split_id(given)
    if parts is None:
        raise ParameterFailure({"volume": f"unable to parse volume ID '{given}'\n"})
    if parts[0] != call["storage"]:
        raise ParameterFailure({"volume": f"storage ID mismatch ({parts[0]} != {call['storage']})\n"})
    return given
