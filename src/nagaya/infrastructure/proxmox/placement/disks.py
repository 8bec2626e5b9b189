"""Which storages the disks of a machine go to on a host."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nagaya.infrastructure.proxmox.placement.amounts import lacking
from nagaya.infrastructure.proxmox.placement.inventory import IMAGES, Host, Storage, Template
from nagaya.infrastructure.proxmox.placement.lack import SPACE, TEMPLATE, Lack
from nagaya.infrastructure.proxmox.placement.reservation import Space
from nagaya.infrastructure.proxmox.placement.room import Room
from nagaya.infrastructure.proxmox.placement.wish import Wish


@dataclass(frozen=True, slots=True)
class DiskPlan:
    """Where the disks go."""

    boot: str
    """The storage of the disk to start from; empty if the template has no disks."""
    copied_to: str
    """What Proxmox VE is told when it clones: the storage for all disks of the template. Empty: each stays on its."""
    further: tuple[str, ...]
    """The storages of the further disks, in their order."""
    spaces: tuple[Space, ...]
    """What it takes of each storage."""


def plan(wish: Wish, template: Template, host: Host, room: Room) -> DiskPlan | tuple[Lack, ...]:
    """Where the disks go, or why they cannot be had. The first storage with enough space is taken."""
    elsewhere = template.host != host.name
    complaints: list[Lack] = []
    for copied_to in _choices(wish):
        tried = _with(wish, template, copied_to)
        why = _against(tried, template, host, room, elsewhere)
        if not why:
            return tried
        complaints += [each for each in why if each not in complaints]
    return tuple(complaints)


def _choices(wish: Wish) -> tuple[str, ...]:
    if wish.linked:
        return ("",)
    if wish.storage:
        return (wish.storage,)
    return wish.rules.storages or ("",)


def _with(wish: Wish, template: Template, copied_to: str) -> DiskPlan:
    needed: Counter[str] = Counter()
    boot = ""
    for number, disk in enumerate(template.disks):
        storage = copied_to or disk.storage
        growth = max(0, wish.boot_size - disk.size) if number == 0 else 0
        if number == 0:
            boot = storage
        # A linked clone takes space only as it differs from its template.
        needed[storage] += growth + (0 if wish.linked else disk.size)
    further = tuple(each.storage or boot or copied_to for each in wish.disks)
    for disk_wished, storage in zip(wish.disks, further, strict=True):
        needed[storage] += disk_wished.size
    return DiskPlan(boot, copied_to, further, tuple(Space(name, size) for name, size in sorted(needed.items())))


def _against(tried: DiskPlan, template: Template, host: Host, room: Room, elsewhere: bool) -> list[Lack]:
    cloned = {tried.copied_to or disk.storage for disk in template.disks}
    complaints: list[Lack] = []
    for name in sorted({disk.storage for disk in template.disks}):
        source = room.storage(template.host, name)
        if source is not None and not source.active:
            why = f"storage {name} with template {template.vmid} cannot be reached on {template.host}"
            complaints.append(Lack(why))
    for space in tried.spaces:
        if not space.storage:
            why = f"template {template.vmid} has no disks, and the machine's further disks name no storage"
            complaints.append(Lack(why, SPACE))
            continue
        storage = room.storage(host.name, space.storage)
        if storage is None or not storage.active or IMAGES not in storage.content:
            complaints.append(Lack(_unusable(space.storage, storage), SPACE))
        elif elsewhere and space.storage in cloned and not storage.shared:
            why = (
                f"template {template.vmid} is on {template.host}, and from there to the local storage "
                f"{space.storage} nothing can be cloned"
            )
            complaints.append(Lack(why, TEMPLATE))
        elif space.size and (left := room.space(storage)) < space.size:
            complaints.append(Lack(f"storage {space.storage}: {lacking(left, space.size)}", SPACE))
    return complaints


def _unusable(name: str, storage: Storage | None) -> str:
    if storage is None:
        return (
            f"storage {name} is not there, is disabled, or may not be seen "
            "(Datastore.Audit, which `nagaya proxmox connect` grants)"
        )
    if not storage.active:
        return f"storage {name} cannot be reached"
    return f"storage {name} is not for disks of VMs (content {', '.join(sorted(storage.content)) or 'none'})"
