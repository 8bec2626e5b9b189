"""The content of a storage as lists and single looks show it.

A list has only kinds of content that the entry of the storage names, whatever else lies there. For a machine it leaves
out ISO files and templates, but not files to import and snippets: PVE asks only there whom they belong to.
"""

from __future__ import annotations

import re
from typing import Any

from nagaya.simulators.proxmox.access.rights import ROOT, Rights
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.footprint import BLOCK
from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, LVM_TYPES, parse, split_id
from nagaya.simulators.proxmox.storages.volumes import Volumes

SECTOR = 512
"""Disks are made of whole ones, so a raw file whose last one is not full counts as a little larger."""
_BACKUP_KIND = re.compile(r"vzdump-(lxc|openvz|qemu)-.")
_FOR_EVERYBODY = frozenset({"iso", "vztmpl"})


def listed(volumes: Volumes, storage: Storage, content: str | None, vmid: int | None) -> list[dict[str, Any]]:
    """The content of a storage, by name."""
    wanted = [kind for kind in storage.contents if content in (None, kind)]
    rows = [
        _row(storage, volume) for volume in volumes.on(storage) if volume.content in wanted and _concerns(volume, vmid)
    ]
    return sorted(rows, key=lambda row: str(row["volid"]).lower())


def _concerns(volume: Volume, vmid: int | None) -> bool:
    if vmid is None:
        return True
    if volume.content in ("images", "backup"):
        return volume.vmid == vmid
    return volume.content not in _FOR_EVERYBODY


def _row(storage: Storage, volume: Volume) -> dict[str, Any]:
    row: dict[str, Any] = {
        "volid": volume.id,
        "content": volume.content,
        "format": volume.format,
        "size": volume.size,
        "ctime": volume.ctime,
    }
    if volume.content == "images":
        row["vmid"] = volume.vmid
        if storage.type in FILE_TYPES:
            row |= {"used": volume.used, "parent": _parent(storage, volume)}
        elif storage.type in LVM_TYPES:
            row["ctime"] = str(volume.ctime)
        else:
            del row["ctime"]
            row |= {"name": volume.name.rpartition("/")[2], "parent": _parent(storage, volume)}
    elif volume.content == "backup":
        if volume.vmid is not None:
            row["vmid"] = volume.vmid
        kind = _BACKUP_KIND.match(volume.name.rpartition("/")[2])
        row["subtype"] = kind[1] if kind is not None else "unknown"
        if volume.protected:
            row["protected"] = 1
        if volume.notes:
            row["notes"] = volume.notes.partition("\n")[0]
    return row


def _parent(storage: Storage, volume: Volume) -> str | None:
    """The base of a linked clone, as the file itself names it."""
    name = parse(storage.type, volume.name)
    if name.base is None:
        return None
    if storage.type in FILE_TYPES:
        return f"../{name.base_vmid}/{name.base}"
    return name.base if storage.type == "rbd" else f"{name.base}@__base__"


def described(volumes: Volumes, volume_id: str) -> dict[str, Any]:
    """One volume, as the tools see it that read it: they do not know an ISO file from a raw disk."""
    path = volumes.path(volume_id)
    storage = volumes.active(volume_id.partition(":")[0])
    volume = volumes.find(volume_id)
    if volume is None:
        raise Failure(f"volume_size_info on '{volume_id}' failed - no format\n")
    if not volume.capacity:
        raise Failure(f"volume '{volume_id}' has size zero\n")
    format = volume.format if volume.content in ("images", "import") else "raw"
    size, used = volume.capacity, volume.used
    if storage.type in FILE_TYPES:
        size = -(-size // SECTOR) * SECTOR if format == "raw" else size
        used = max(used, -(-len(volume.data or b"") // BLOCK) * BLOCK)
    elif not storage.type.startswith("zfs"):
        used = 0
    shown: dict[str, Any] = {"path": path, "size": size, "used": used, "format": format}
    if volume.content == "backup":
        shown |= {"protected": int(volume.protected), "notes": volume.notes}
    return shown


def check_access(volumes: Volumes, rights: Rights, volume_id: str) -> None:
    """Refuse a caller who may not read a volume."""
    parts = split_id(volume_id)
    if parts is None:
        if rights.caller.id != ROOT:
            raise Failure("Only root can pass arbitrary filesystem paths.\n")
        return
    storage, name = volumes.parse(volume_id)
    path = f"/storage/{storage.name}"
    if rights.may(path, ["Datastore.Allocate"]):
        return
    if name.content in ("iso", "vztmpl", "import"):
        rights.check(path, ["Datastore.AllocateSpace", "Datastore.Audit"], any=True)
    elif name.content == "backup" and name.vmid:
        rights.check(path, ["Datastore.AllocateSpace"])
        rights.check(f"/vms/{name.vmid}", ["VM.Backup"])
    elif name.content == "images" and name.vmid:
        rights.check(path, ["Datastore.Audit"])
        rights.check(f"/vms/{name.vmid}", ["VM.Config.Disk"])
    else:
        raise Failure(f"missing privileges to access {volume_id}\n")


def accessible(volumes: Volumes, rights: Rights, volume_id: str) -> bool:
    """Whether a caller may read a volume."""
    try:
        check_access(volumes, rights, volume_id)
    except Failure:
        return False
    return True
