"""What the name of a volume says: PVE keeps no list of volumes, so kind, owner, format and origin are read from names.

Directories keep `100/vm-100-disk-0.qcow2` and, for a linked clone,
`9000/base-9000-disk-0.qcow2/100/vm-100-disk-0.qcow2`. LVM has plain `vm-100-disk-0`, and a linked clone does not show
there; ZFS and Ceph have `base-9000-disk-0/vm-100-disk-0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nagaya.simulators.proxmox.failure import Failure

FILE_TYPES = frozenset({"dir", "nfs", "cifs", "cephfs", "btrfs", "glusterfs"})
"""Types of storage whose volumes are files below a path."""
LVM_TYPES = frozenset({"lvm", "lvmthin"})

_FILE = re.compile(r"((base-)?[^/\s]+\.(raw|qcow2|vmdk|subvol))")
_LINKED_FILE = re.compile(r"(\d+)/(\S+)/(\d+)/(\S+)")
_PLAIN_FILE = re.compile(r"(\d+)/(\S+)")
_ISO = re.compile(r"iso/([^/]+\.(?:iso|img))", re.IGNORECASE)
_TEMPLATE = re.compile(r"vztmpl/([^/]+\.tar\.(?:gz|xz|zst|bz2))")
_BACKUP = re.compile(r"backup/([^/]+\.(?:tgz|(?:tar|vma)(?:\.(?:gz|lzo|zst|bz2))?))")
_BACKUP_OWNER = re.compile(r"vzdump-(?:openvz|lxc|qemu)-(\d+)-.+")
_SNIPPET = re.compile(r"snippets/([^/]+)")
_IMPORT = re.compile(r"import/([a-zA-Z0-9\-.+=_]+\.(ova|ovf|qcow2|raw|vmdk))", re.IGNORECASE)
_IMPORT_PART = re.compile(r"import/([a-zA-Z0-9\-.+=_]+\.ova)/([a-zA-Z0-9\-.+=_]+\.(qcow2|raw|vmdk))", re.IGNORECASE)
_LOGICAL_VOLUME = re.compile(r"((vm|base)-(\d+)-\S+)")
_CHAINED = re.compile(r"(?:((?:base|basevol)-(\d+)-\S+)/)?((base|basevol|vm|subvol)-(\d+)-\S+)")


@dataclass(frozen=True, slots=True)
class VolumeName:
    """The parts of a name."""

    content: str
    """images, iso, vztmpl, backup, snippets, import."""
    name: str
    format: str = "raw"
    vmid: int | None = None
    """The machine that owns it."""
    base: str | None = None
    """What it is a linked clone of."""
    base_vmid: int | None = None
    is_base: bool = False


def parse(storage_type: str, name: str) -> VolumeName:
    """Read a name as a type of storage does."""
    if storage_type in FILE_TYPES:
        return _parse_file(name)
    if storage_type in LVM_TYPES:
        if (found := _LOGICAL_VOLUME.fullmatch(name)) is None:
            raise Failure(f"unable to parse lvm volume name '{name}'\n")
        return VolumeName("images", found[1], vmid=int(found[3]), is_base=found[2] == "base")
    if (found := _CHAINED.fullmatch(name)) is None:
        kind = "zfs" if storage_type.startswith("zfs") else storage_type
        raise Failure(f"unable to parse {kind} volume name '{name}'\n")
    return VolumeName(
        "images",
        found[3],
        vmid=int(found[5]),
        base=found[1],
        base_vmid=int(found[2]) if found[2] else None,
        is_base=found[4].startswith("base"),
    )


def _parse_file(name: str) -> VolumeName:
    if found := _LINKED_FILE.fullmatch(name):
        image_file(found[2])
        file, format, is_base = image_file(found[4])
        return VolumeName("images", file, format, int(found[3]), found[2], int(found[1]), is_base)
    if found := _PLAIN_FILE.fullmatch(name):
        file, format, is_base = image_file(found[2])
        return VolumeName("images", file, format, int(found[1]), is_base=is_base)
    if found := _ISO.fullmatch(name):
        return VolumeName("iso", found[1])
    if found := _TEMPLATE.fullmatch(name):
        return VolumeName("vztmpl", found[1])
    if found := _BACKUP.fullmatch(name):
        owner = _BACKUP_OWNER.fullmatch(found[1])
        return VolumeName("backup", found[1], vmid=int(owner[1]) if owner else None)
    if found := _SNIPPET.fullmatch(name):
        return VolumeName("snippets", found[1])
    if found := _IMPORT_PART.fullmatch(name):
        return VolumeName("import", f"{found[1]}/{found[2]}", f"ova+{found[3].lower()}")
    if found := _IMPORT.fullmatch(name):
        return VolumeName("import", found[1], found[2].lower())
    raise Failure(f"unable to parse directory volume name '{name}'\n")


def image_file(name: str) -> tuple[str, str, bool]:
    """Name and format of a file that is a disk, and whether others may be linked to it."""
    if (found := _FILE.fullmatch(name)) is None:
        raise Failure(f"unable to parse volume filename '{name}'\n")
    return found[1], found[3], found[2] is not None


def split_id(volume_id: str) -> tuple[str, str] | None:
    """Storage and name of a volume id; None if it is none, but a path, `none` or `cdrom`."""
    storage, colon, name = volume_id.partition(":")
    if not colon or not name or not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]", storage) or " " in name:
        return None
    return storage, name
