"""The data center of the town: hosts with templates of two versions, a token that may do the least, and other people's
things between all that, of which nothing may ever be touched."""

from __future__ import annotations

from typing import Final

from nagaya.infrastructure.proxmox.privileges.place import Scope
from nagaya.infrastructure.proxmox.privileges.setup import TOKEN_NAME, USER, setup
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker
from nagaya.simulators.proxmox.layouts.demo import GIB, POOL, demo
from nagaya.simulators.proxmox.state.datacenter import Datacenter, Pool
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.storage import Volume
from nagaya.world import World
from support.proxmox_rights import give

TOKEN: Final = f"{USER}!{TOKEN_NAME}"
IMAGES: Final = "images"
"""The pool that templates are in."""
OLD: Final = "v1.36.3"
NEW: Final = "v1.36.4"
SCOPE: Final = Scope(pool=POOL, template_pool=IMAGES)
RELEASE: Final = (9, 2)
STRANGERS: Final = (100, 101, 102)
_STRAY: Final = 777
"""A VMID that has a disk and no machine."""


def town_layout(world: World, *, hosts: int = 3) -> Datacenter:
    """Its state at the beginning."""
    datacenter = demo(world, hosts=hosts, kubernetes=OLD)
    templates = [guest for guest in datacenter.guests.values() if guest.template]
    for number, guest in enumerate(templates):
        guest.config["tags"] = f"kubernetes-{OLD}"
        _another_version(datacenter, world, guest, 9101 + number)
    datacenter.pools[IMAGES] = Pool("templates", set(datacenter.guests))
    _add_strangers(datacenter, world, [*datacenter.nodes])
    _grant(datacenter, world)
    return datacenter


def secret(datacenter: Datacenter) -> str:
    """That of the token."""
    return datacenter.access.users[USER].tokens[TOKEN_NAME].secret


def grants() -> list[tuple[str, str]]:
    """Path and privilege of all that the token is granted."""
    made = setup(RELEASE, SCOPE)
    found = {(each.path, name): None for each in made.grants for name in made.roles[each.role]}
    return sorted(found)


def foreign(datacenter: Datacenter) -> str:
    """All that is not ours, to the letter, except for what a host loses with its power."""
    theirs = {*STRANGERS, *(vmid for vmid, guest in datacenter.guests.items() if guest.template)}
    guests = [
        (each.vmid, each.node, each.config, each.pending, each.deletions, each.snapshots)
        for each in datacenter.guests.values()
        if each.vmid in theirs
    ]
    volumes = [
        each
        for each in datacenter.volumes.values()
        if each.vmid in {*theirs, _STRAY} or (each.vmid is None and "user-data-" not in each.name)
    ]
    pools = {name: (pool.comment, sorted(pool.vms & theirs)) for name, pool in datacenter.pools.items()}
    resources = {sid: given for sid, given in datacenter.ha.resources.items() if int(sid.partition(":")[2]) in theirs}
    return "\n".join(map(repr, [*guests, *volumes, pools, datacenter.storages, resources]))


def _another_version(datacenter: Datacenter, world: World, guest: Guest, vmid: int) -> None:
    node, old = guest.node, str(guest.vmid)
    for volume in _volumes_of(datacenter, guest.vmid):
        made = Volume(
            volume.storage, volume.name.replace(old, str(vmid)), "images", "raw", volume.size, volume.ctime, node, vmid,
            volume.used, system=volume.system,
        )  # fmt: skip
        datacenter.volumes[node, made.id] = made
    config = {
        key: value.replace(f"-{old}-", f"-{vmid}-") if isinstance(value, str) else value
        for key, value in guest.config.items()
    }
    config |= {"name": f"debian-12-kubernetes-{NEW}", "tags": f"kubernetes-{NEW}", "smbios1": f"uuid={world.uid()}"}
    datacenter.guests[vmid] = Guest(vmid, node, config)


def _volumes_of(datacenter: Datacenter, vmid: int) -> list[Volume]:
    return [each for each in datacenter.volumes.values() if each.vmid == vmid]


def _add_strangers(datacenter: Datacenter, world: World, hosts: list[str]) -> None:
    marker = Marker("other/shop-workers-abc", world.uid(), "other/shop").line()
    descriptions = ("The accounts. Do not touch!", "made by hand, in the pool", f"Another Nagaya's.\n\n{marker}")
    for number, (vmid, said) in enumerate(zip(STRANGERS, descriptions, strict=True)):
        host = hosts[number % len(hosts)]
        disk = f"vm-{vmid}-disk-0"
        _add_disk(datacenter, disk, host, vmid)
        config = {
            "boot": "order=scsi0",
            "cores": 1,
            "description": said,
            "memory": "512",
            "name": f"stranger-{vmid}",
            "net0": f"virtio=BC:24:11:00:01:{vmid - 99:02X},bridge=vmbr0",
            "scsi0": f"local-lvm:{disk},size=4G",
            "smbios1": f"uuid={world.uid()}",
            "tags": "nagaya",
        }
        datacenter.guests[vmid] = Guest(vmid, host, config)
    datacenter.pools[POOL].vms.add(STRANGERS[1])
    for host in hosts:
        name = "iso/debian.iso"
        datacenter.volumes[host, f"local:{name}"] = Volume("local", name, "iso", "iso", 600 << 20, 0, host)
    _add_disk(datacenter, f"vm-{_STRAY}-disk-0", hosts[-1], _STRAY)


def _add_disk(datacenter: Datacenter, name: str, host: str, vmid: int) -> None:
    volume = Volume("local-lvm", name, "images", "raw", 4 * GIB, 0, host, vmid, GIB)
    datacenter.volumes[host, volume.id] = volume


def _grant(datacenter: Datacenter, world: World) -> None:
    give(datacenter, setup(RELEASE, SCOPE), secret=world.uid())


def taken(datacenter: Datacenter, path: str, privilege: str, *, back: bool = False) -> None:
    """Take a privilege from the token at a path, in every role that it has there; or give it back."""
    made, access = setup(RELEASE, SCOPE), datacenter.access
    for role in {each.role for each in made.grants if each.path == path}:
        if back and privilege in made.roles[role]:
            access.roles[role] |= {privilege}
        elif not back:
            access.roles[role] -= {privilege}
