"""How full a storage is, as a host sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.definitions import formats_of, shown_content

_THICK = frozenset({"lvm", "zfspool"})


@dataclass(frozen=True, slots=True)
class Usage:
    """In bytes."""

    total: int
    used: int

    @property
    def free(self) -> int:
        """What is left."""
        return max(0, self.total - self.used)


def volumes_of(datacenter: Datacenter, storage: Storage, node: str) -> Iterator[Volume]:
    """The volumes that a host finds on a storage."""
    host = None if storage.shared else node
    return (
        volume for (where, _), volume in datacenter.volumes.items() if where == host and volume.storage == storage.name
    )


def usage_of(datacenter: Datacenter, storage: Storage, node: str) -> Usage:
    """What is used and free."""
    used = storage.foreign + sum(taken(storage, volume) for volume in volumes_of(datacenter, storage, node))
    return Usage(storage.capacity, min(used, storage.capacity))


def takes_whole_size(storage: Storage) -> bool:
    """Whether a volume takes its whole size at once there."""
    return storage.type in _THICK and not storage.options.get("sparse")


def taken(storage: Storage, volume: Volume) -> int:
    """What a volume takes."""
    if volume.content != "images" or takes_whole_size(storage):
        return volume.size
    return volume.used


def status_of(datacenter: Datacenter, storage: Storage, node: str, *, formats: bool = False) -> dict[str, Any]:
    """A storage in the lists of a host. One that is off, elsewhere or unreachable has no sizes."""
    here = storage.enabled and storage.on(node)
    shown: dict[str, Any] = {
        "type": storage.type,
        "total": 0,
        "avail": 0,
        "used": 0,
        "shared": int(storage.shared),
        "content": shown_content(storage),
        "active": 0,
        "enabled": int(here),
    }
    if not here:
        return shown
    if formats:
        supported, default = formats_of(storage)
        shown["format"] = [dict.fromkeys(supported, 1), default]
        shown["formats"] = {"supported": supported, "default": default}
    if storage.reachable:
        usage = usage_of(datacenter, storage, node)
        shown |= {"total": usage.total, "avail": usage.free, "used": usage.used, "active": 1}
    return shown
