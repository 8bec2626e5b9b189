"""Single files out of backups: only a backup server can give them, and the emulator has no backups there."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.storages.listing import check_access
from nagaya.simulators.proxmox.storages.volume_name import split_id
from nagaya.simulators.proxmox.storages.volumes import Volumes

handlers = Handlers()
_PATH = "/nodes/{node}/storage/{storage}/file-restore"
_CONTENT = "backup"
_BACKUP_SERVER = "pbs"


@handlers("GET", f"{_PATH}/list")
async def files(call: Call) -> Json:
    """What is in a backup."""
    return _refused(call)


@handlers("GET", f"{_PATH}/download")
async def file(call: Call) -> Json:
    """One file of it."""
    return _refused(call)


def _refused(call: Call) -> Json:
    volumes = Volumes(call.emulator, call.node.name)
    volume_id = _volume_id(call)
    storage = volumes.storage(call["storage"])
    if storage.type == _BACKUP_SERVER:
        raise Failure(f"volume '{volume_id}' does not exist\n")
    _, name = volumes.parse(volume_id)
    if name.content != _CONTENT:
        raise Failure(f"unable to use volume {volume_id} - content type needs to be '{_CONTENT}'\n")
    check_access(volumes, call.rights, volume_id)
    raise ParameterFailure({"storage": "Only PBS storages supported for file-restore."})


def _volume_id(call: Call) -> str:
    """The backup that is meant: by its id, or by its name with or without the folder."""
    given, storage = str(call["volume"]), call["storage"]
    if (parts := split_id(given)) is None:
        return f"{storage}:{given}" if given.startswith(f"{_CONTENT}/") else f"{storage}:{_CONTENT}/{given}"
    if parts[0] != storage:
        raise ParameterFailure({"volume": f"storage ID mismatch ({parts[0]} != {storage})."})
    return given
