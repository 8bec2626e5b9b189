"""Putting a file that came from outside in its place on a storage; one that is there already is replaced."""

from __future__ import annotations

from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.files import LARGEST_KEPT, BroughtFile, virtual_size
from nagaya.simulators.proxmox.storages.volumes import Volumes


def place(volumes: Volumes, storage: Storage, file: BroughtFile, data: bytes | None, size: int) -> Volume:
    """Enter the file on the host whose volumes these are."""
    volume = volumes.put(storage, f"{file.content}/{file.name}", file.format, size)
    volume.data = data if data is not None and len(data) <= LARGEST_KEPT else None
    volume.virtual_size = virtual_size(file, data, size)
    volume.used = 0
    return volume
