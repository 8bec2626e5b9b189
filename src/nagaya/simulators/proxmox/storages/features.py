"""What a storage can do with a volume: make snapshots, linked clones, templates, copies.

With files it depends on the format, with everything else on the type of storage; and on whether the volume is a base, a
snapshot, or neither.
"""

from __future__ import annotations

from nagaya.simulators.proxmox.storages.volume_name import FILE_TYPES, VolumeName

_FILE_FEATURES: dict[str, dict[str, frozenset[str]]] = {
    "snapshot": {"current": frozenset({"qcow2"}), "snap": frozenset({"qcow2"})},
    "clone": {"base": frozenset({"qcow2", "raw", "vmdk"})},
    "template": {"current": frozenset({"qcow2", "raw", "vmdk", "subvol"})},
    "copy": {
        "base": frozenset({"qcow2", "raw", "vmdk"}),
        "current": frozenset({"qcow2", "raw", "vmdk"}),
        "snap": frozenset({"qcow2"}),
    },
    "sparseinit": {"base": frozenset({"qcow2", "raw", "vmdk"}), "current": frozenset({"qcow2", "raw", "vmdk"})},
    "rename": {"current": frozenset({"qcow2", "raw", "vmdk"})},
}
_BLOCK_FEATURES: dict[str, dict[str, frozenset[str]]] = {
    "lvmthin": {
        "snapshot": frozenset({"current"}),
        "clone": frozenset({"base", "snap"}),
        "template": frozenset({"current"}),
        "copy": frozenset({"base", "current", "snap"}),
        "sparseinit": frozenset({"base", "current"}),
        "rename": frozenset({"current"}),
    },
    "lvm": {"copy": frozenset({"base", "current"}), "rename": frozenset({"current"})},
    "zfspool": {
        "snapshot": frozenset({"current", "snap"}),
        "clone": frozenset({"base"}),
        "template": frozenset({"current"}),
        "copy": frozenset({"base", "current"}),
        "sparseinit": frozenset({"base", "current"}),
        "replicate": frozenset({"base", "current"}),
        "rename": frozenset({"current"}),
    },
    "rbd": {
        "snapshot": frozenset({"current", "snap"}),
        "clone": frozenset({"base", "snap"}),
        "template": frozenset({"current"}),
        "copy": frozenset({"base", "current", "snap"}),
        "sparseinit": frozenset({"base", "current"}),
        "rename": frozenset({"current"}),
    },
}


def has(storage_type: str, name: VolumeName, feature: str, snapshot: str | None = None) -> bool:
    """Whether a storage can do something with a volume, or with a snapshot of it."""
    key = "snap" if snapshot else "base" if name.is_base else "current"
    if storage_type in FILE_TYPES:
        return name.format in _FILE_FEATURES.get(feature, {}).get(key, frozenset())
    return key in _BLOCK_FEATURES.get(storage_type, {}).get(feature, frozenset())
