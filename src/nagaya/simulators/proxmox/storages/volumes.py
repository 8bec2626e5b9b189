"""Making, copying and removing the volumes that machines use, on one host.

Whoever changes a storage holds its lock: of the host for a local storage, of the cluster for a shared one. What PVE's
tools print meanwhile goes into the log of the task that runs them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages import features
from nagaya.simulators.proxmox.storages.files import folder
from nagaya.simulators.proxmox.storages.footprint import empty_file
from nagaya.simulators.proxmox.storages.usage import takes_whole_size, usage_of, volumes_of
from nagaya.simulators.proxmox.storages.volume_name import (
    FILE_TYPES,
    LVM_TYPES,
    VolumeName,
    image_file,
    parse,
    split_id,
)
from nagaya.simulators.proxmox.tasks.runner import Log

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

EXTENT = 4 << 20
"""LVM hands out space in pieces of this size."""
SECTOR = 512
"""Of so many bytes each is a disk in a qcow2 file."""


class Volumes:
    """The volumes as one host sees them."""

    def __init__(self, emulator: Emulator, node: str) -> None:
        self._emulator = emulator
        self._datacenter = emulator.datacenter
        self.node = node

    # Storages

    def storage(self, name: str) -> Storage:
        """The storage of that name."""
        if (storage := self._datacenter.storages.get(name)) is None:
            raise Failure(f"storage '{name}' does not exist\n")
        return storage

    def enabled(self, name: str, node: str | None = None) -> Storage:
        """The storage of that name, which must be usable on a host (this one, if none is named)."""
        storage = self.storage(name)
        if not storage.enabled:
            raise Failure(f"storage '{name}' is disabled\n")
        if not storage.on(node or self.node):
            raise Failure(f"storage '{name}' is not available on node '{node or self.node}'\n")
        return storage

    def active(self, name: str) -> Storage:
        """The storage of that name, ready for use."""
        storage = self.enabled(name)
        if not storage.reachable:
            if storage.options.get("is_mountpoint") not in (None, 0, "0", "no"):
                why = "directory is expected to be a mount point but is not mounted"
                raise Failure(f"unable to activate storage '{name}' - {why}: '{storage.options.get('path')}'\n")
            raise Failure(f"storage '{name}' is not online\n")
        return storage

    @asynccontextmanager
    async def locked(self, storage: Storage, log: Log) -> AsyncIterator[None]:
        """Nobody else changes the storage meanwhile."""
        if storage.shared:
            async with self._emulator.locks.cluster(f"storage-{storage.name}"):
                yield
            return
        path = f"/var/lock/pve-manager/pve-storage-{storage.name}"
        async with self._emulator.locks.file(self.node, path, say=log.say):
            yield

    # Names

    def parse(self, volume_id: str) -> tuple[Storage, VolumeName]:
        """What the id of a volume says."""
        if (parts := split_id(volume_id)) is None:
            raise Failure(f"unable to parse volume ID '{volume_id}'\n")
        storage = self.storage(parts[0])
        return storage, parse(storage.type, parts[1])

    def owner(self, volume_id: str) -> int | None:
        """The machine that a volume belongs to."""
        return self.parse(volume_id)[1].vmid

    def path(self, volume_id: str) -> str:
        """Where the host finds a volume."""
        storage, name = self.parse(volume_id)
        if storage.type in FILE_TYPES:
            owner = f"{name.vmid}/" if name.content == "images" else ""
            return f"{folder(storage, name.content)}/{owner}{name.name}"
        if storage.type in LVM_TYPES:
            return f"/dev/{storage.options.get('vgname', 'pve')}/{name.name}"
        if storage.type == "rbd":
            return f"rbd:{storage.options.get('pool', 'rbd')}/{name.name}"
        return f"/dev/zvol/{storage.options.get('pool', 'rpool')}/{name.name}"

    def at(self, path: str) -> Volume | None:
        """The file that lies at a path of this host, if it is on one of its storages."""
        for storage in self._datacenter.storages.values():
            if storage.type in FILE_TYPES and storage.enabled and storage.on(self.node):
                for volume in self.on(storage):
                    if self.path(volume.id) == path:
                        return volume
        return None

    def default_format(self, storage: Storage) -> str:
        """The format of a disk whose maker did not say."""
        if storage.type not in FILE_TYPES:
            return "raw"
        return str(storage.options.get("format", "raw"))

    def resolve_format(self, storage: Storage, hint: str | None) -> str:
        """The format asked for, if the storage has it."""
        if hint is None or (storage.type not in FILE_TYPES and hint != "raw"):
            return self.default_format(storage)
        return hint

    # Finding

    def find(self, volume_id: str) -> Volume | None:
        """The volume with an id, None if there is none on this host."""
        if (parts := split_id(volume_id)) is None or (storage := self._datacenter.storages.get(parts[0])) is None:
            return None
        host = None if storage.shared else self.node
        if (volume := self._datacenter.volumes.get((host, volume_id))) is not None:
            return volume
        wanted = parse(storage.type, parts[1])
        for volume in self.on(storage):
            if volume.content == "images" and volume.vmid == wanted.vmid:
                name = parse(storage.type, volume.name)
                if (name.vmid, name.name) == (wanted.vmid, wanted.name):
                    return volume
        return None

    def images(self, vmid: int) -> list[Volume]:
        """The disks of a machine on all storages that are usable here."""
        return [
            volume
            for storage in self._datacenter.storages.values()
            if storage.enabled and storage.on(self.node) and storage.reachable
            for volume in self.on(storage)
            if volume.content == "images" and volume.vmid == vmid
        ]

    def all_images(self, vmid: int) -> list[Volume]:
        """The same, after activating every storage for disks that this host has. Fails if one cannot be activated."""
        for storage in self._datacenter.storages.values():
            if storage.enabled and storage.on(self.node) and "images" in storage.contents:
                self.active(storage.name)
        return self.images(vmid)

    def base_in_use(self, volume_id: str) -> bool:
        """Whether a base has linked clones. LVM cannot tell."""
        storage, name = self.parse(volume_id)
        if not name.is_base or storage.type in LVM_TYPES:
            return False
        for volume in self.on(storage):
            if volume.content == "images":
                other = parse(storage.type, volume.name)
                if other.base == name.name and other.base_vmid == name.vmid:
                    return True
        return False

    def has_feature(self, feature: str, volume_id: str, snapshot: str | None = None) -> bool:
        """Whether a storage can do something with a volume, or with a snapshot of it."""
        storage, name = self.parse(volume_id)
        return features.has(storage.type, name, feature, snapshot)

    def on(self, storage: Storage) -> Iterator[Volume]:
        """All volumes of a storage that this host finds there."""
        return volumes_of(self._datacenter, storage, self.node)

    # Changing

    def put(self, storage: Storage, name: str, format: str, size: int, parent: str | None = None) -> Volume:
        """Enter a volume, as it is found on the disk."""
        parsed = parse(storage.type, name)
        volume = Volume(
            storage.name,
            name,
            parsed.content,
            format,
            size,
            int(self._emulator.world.clock.now().timestamp()),
            node=None if storage.shared else self.node,
            vmid=parsed.vmid,
            parent=parent,
        )
        if storage.type in FILE_TYPES:
            volume.used = empty_file(format, size, linked=parsed.base is not None)
        self._datacenter.volumes[volume.node, volume.id] = volume
        return volume

    async def allocate(
        self, log: Log, storage_name: str, vmid: int, format: str | None, size: int, name: str | None = None
    ) -> Volume:
        """Make an empty disk."""
        storage = self.active(storage_name)
        format = format or self.default_format(storage)
        await log.step("allocate")
        await self._gap()
        async with self.locked(storage, log):
            await self._work()
            return self._allocate(log, storage, vmid, format, size, name)

    def _allocate(self, log: Log, storage: Storage, vmid: int, format: str, size: int, name: str | None) -> Volume:
        if storage.type in FILE_TYPES:
            name = name or self._free_name(storage, vmid, format)
            _, given, _ = image_file(name)
            if given != format:
                raise Failure(f"illegal name '{name}' - wrong extension for format ('{given} != '{format}')\n")
            volume_name = f"{vmid}/{name}"
            path = self.path(f"{storage.name}:{volume_name}")
            if self.find(f"{storage.name}:{volume_name}") is not None:
                raise Failure(f"disk image '{path}' already exists\n")
            if format == "subvol":
                if size:
                    raise Failure("storage does not support subvol quotas\n")
            else:
                log.say(_formatting(path, format, size))
            return self.put(storage, volume_name, format, size)
        if format != "raw":
            raise Failure(f"unsupported format '{format}'\n")
        if name and not name.startswith(f"vm-{vmid}-"):
            raise Failure(f"illegal name '{name}' - should be 'vm-{vmid}-*'\n")
        name = name or self._free_name(storage, vmid, None)
        if storage.type in LVM_TYPES:
            size = -(-size // EXTENT) * EXTENT
        if (refusal := self._refusal(storage, name, size)) is not None:
            raise Failure(refusal)
        if storage.type in LVM_TYPES:
            log.say(f'  Logical volume "{name}" created.')
        return self.put(storage, name, "raw", size)

    def _refusal(self, storage: Storage, name: str, size: int) -> str | None:
        """What the tools of a storage say when they cannot make a volume; None if they can."""
        exists = self.find(f"{storage.name}:{name}") is not None
        if not exists and not (takes_whole_size(storage) and size > self.room(storage)):
            return None
        if storage.type in LVM_TYPES:
            group = storage.options.get("vgname", "pve")
            why = f'Logical Volume "{name}" already exists in volume group "{group}"'
            if not exists:
                extents = f"({self.room(storage) // EXTENT} extents): {size // EXTENT} required."
                why = f'Volume group "{group}" has insufficient free space {extents}'
            return f"lvcreate '{group}/{name}' error:   {why}\n"
        if storage.type == "rbd":
            return f"rbd create '{name}' error: rbd: create error: (17) File exists\n"
        where = f"{storage.options.get('pool', 'rpool')}/{name}"
        return f"zfs error: cannot create '{where}': {'dataset already exists' if exists else 'out of space'}\n"

    def room(self, storage: Storage) -> int:
        """Bytes that can still be written to a storage."""
        return usage_of(self._datacenter, storage, self.node).free

    async def clone(self, log: Log, volume_id: str, vmid: int) -> Volume:
        """Make a linked clone of a base."""
        storage, base = self.parse(volume_id)
        self.active(storage.name)
        source = self._existing(volume_id)
        await log.step("clone")
        await self._gap()
        async with self.locked(storage, log):
            await asyncio.sleep(self._emulator.pace.linked_clone)
            if not base.is_base and storage.type in FILE_TYPES:
                raise Failure("clone_image only works on base images\n")
            if storage.type in FILE_TYPES:
                name = self._free_name(storage, vmid, "qcow2")
                backing = f"../{base.vmid}/{base.name}"
                origin = f"{base.vmid}/{base.name}"
                log.say(f"clone {source.name}: images, {name}, {vmid} to {name} (base={backing})")
                volume_name = f"{origin}/{vmid}/{name}"
                path = self.path(f"{storage.name}:{volume_name}")
                log.say(_formatting(path, "qcow2", source.size, backing=(backing, source.format)))
                volume = self.put(storage, volume_name, "qcow2", source.size, parent=source.name)
            else:
                name = self._free_name(storage, vmid, None)
                if storage.type in LVM_TYPES:
                    log.say(f'  Logical volume "{name}" created.')
                    volume_name = name
                else:
                    volume_name = f"{base.name}/{name}"
                volume = self.put(storage, volume_name, "raw", source.size, parent=source.name)
            volume.system, volume.data = source.system, source.data
        return volume

    async def free(self, log: Log, volume_id: str) -> None:
        """Remove a volume. One that is already gone is only mentioned."""
        storage, name = self.parse(volume_id)
        self.active(storage.name)
        await log.step("free")
        async with self.locked(storage, log):
            await self._work()
            if self.base_in_use(volume_id):
                short = volume_id.partition(":")[2]
                raise Failure(f"base volume '{short}' is still in use by linked clones\n")
            if (volume := self.find(volume_id)) is None:
                if storage.type in FILE_TYPES:
                    log.say(f"disk image '{self.path(volume_id)}' does not exist")
                return
            del self._datacenter.volumes[volume.node, volume.id]
            if storage.type in LVM_TYPES:
                log.say(f'  Logical volume "{name.name}" successfully removed.')

    async def make_base(self, log: Log, volume_id: str) -> Volume:
        """Turn a disk into one that others can be linked to."""
        storage, name = self.parse(volume_id)
        self.active(storage.name)
        volume = self._existing(volume_id)
        async with self.locked(storage, log):
            await self._work()
            if name.is_base:
                raise Failure("create_base not possible with base image\n")
            new = "base-" + name.name.removeprefix("vm-")
            owned = f"{name.vmid}/{new}" if storage.type in FILE_TYPES else new
            self._rename(storage, volume, _origin(storage, name) + owned)
        return volume

    async def rename(self, log: Log, volume_id: str, vmid: int) -> Volume:
        """Give a disk to another machine."""
        storage, name = self.parse(volume_id)
        volume = self._existing(volume_id)
        async with self.locked(storage, log):
            await self._work()
            in_files = storage.type in FILE_TYPES
            new = self._free_name(storage, vmid, name.format if in_files else None)
            self._rename(storage, volume, _origin(storage, name) + (f"{vmid}/{new}" if in_files else new))
        return volume

    async def resize(self, log: Log, volume_id: str, size: int, *, running: bool) -> None:
        """Make a disk larger. A running machine resizes it by itself."""
        storage, name = self.parse(volume_id)
        self.active(storage.name)
        volume = self._existing(volume_id)
        if storage.type in FILE_TYPES and name.format not in ("raw", "qcow2"):
            raise Failure("can't resize this image format\n")
        await self._work()
        if storage.type in LVM_TYPES:
            old, size = volume.size, -(-size // EXTENT) * EXTENT
            group = storage.options.get("vgname", "pve")
            log.say(
                f"  Size of logical volume {group}/{name.name} changed from {_gib(old)} ({old // EXTENT} extents)"
                f" to {_gib(size)} ({size // EXTENT} extents)."
            )
            log.say(f"  Logical volume {group}/{name.name} successfully resized.")
        elif storage.type in FILE_TYPES and not running:
            path, refused = self.path(volume_id), None
            if name.is_base:
                refused = f"Could not open '{path}': Could not open '{path}': Operation not permitted"
            elif name.format == "qcow2" and size % SECTOR:
                refused = f"The new size must be a multiple of {SECTOR}"
            if refused is not None:
                log.say(f"qemu-img: {refused}")
                option = "'--preallocation=metadata'" if name.format == "qcow2" else "'--preallocation=off'"
                command = f"/usr/bin/qemu-img resize {option} -f {name.format} {path} {size}"
                raise Failure(f"command '{command}' failed: exit code 1\n")
            log.say("Image resized.")
        volume.size = size

    def _existing(self, volume_id: str) -> Volume:
        if (volume := self.find(volume_id)) is None:
            raise Failure(f"volume '{volume_id}' does not exist\n")
        return volume

    def _rename(self, storage: Storage, volume: Volume, name: str) -> None:
        del self._datacenter.volumes[volume.node, volume.id]
        volume.name = name
        volume.vmid = parse(storage.type, name).vmid
        self._datacenter.volumes[volume.node, volume.id] = volume

    def _free_name(self, storage: Storage, vmid: int, format: str | None) -> str:
        taken: set[int] = set()
        numbered = re.compile(rf"(?:vm|base)-{vmid}-disk-(\d+)(?:\.\w+)?")
        for volume in self.on(storage):
            if volume.content == "images" and (found := numbered.fullmatch(volume.name.rpartition("/")[2])):
                taken.add(int(found[1]))
        number = next(number for number in range(len(taken) + 1) if number not in taken)
        return f"vm-{vmid}-disk-{number}" + (f".{format}" if format else "")

    async def _work(self) -> None:
        await asyncio.sleep(self._emulator.pace.task / 10)

    async def _gap(self) -> None:
        # A process does other things between two uses of a storage, so that others get their turn.
        await asyncio.sleep(self._emulator.pace.task / 20)


def _formatting(path: str, format: str, size: int, backing: tuple[str, str] | None = None) -> str:
    """What qemu-img says when it makes a file."""
    if format == "vmdk":
        return f"Formatting '{path}', fmt=vmdk size={size} compat6=off hwversion=undefined"
    if format != "qcow2":
        return f"Formatting '{path}', fmt={format} size={size} preallocation=off"
    cluster, extended, origin = (65536, "off", "")
    if backing is not None:
        cluster, extended = 131072, "on"
        origin = f" backing_file={backing[0]} backing_fmt={backing[1]}"
    return (
        f"Formatting '{path}', fmt=qcow2 cluster_size={cluster} extended_l2={extended} preallocation=metadata"
        f" compression_type=zlib size={size}{origin} lazy_refcounts=off refcount_bits=16"
    )


def _origin(storage: Storage, name: VolumeName) -> str:
    """What stands before the name of a linked clone, whatever becomes of it."""
    if not name.base:
        return ""
    return f"{name.base_vmid}/{name.base}/" if storage.type in FILE_TYPES else f"{name.base}/"


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.2f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.2f} MiB"
