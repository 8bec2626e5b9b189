"""The calls that take a VM away, and the look that comes before each of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox, Upid
from nagaya.infrastructure.proxmox.client.errors import (
    Evidence,
    Forbidden,
    HostUnreachable,
    NotFound,
    ProxmoxError,
    WrongState,
)
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.property_string import PropertyString
from nagaya.infrastructure.proxmox.client.storages import Volume
from nagaya.infrastructure.proxmox.virtual_machine import marker
from nagaya.infrastructure.proxmox.virtual_machine.found import (
    NO_STRAYS,
    Found,
    Identity,
    Presence,
    Standing,
    Strays,
    find,
)
from nagaya.infrastructure.proxmox.virtual_machine.removal import Destroy, RemoveVolume, Stop

log = logging.getLogger(__name__)

IMAGES: Final = "images"
ISO: Final = "iso"
_OTHER_DRIVES: Final = ("efidisk0", "tpmstate0")


def boot_image(vmid: int) -> str:
    """The name of the file with the boot data of a VM, as CAPMOX calls it."""
    return f"user-data-{vmid}.iso"


async def look(
    proxmox: Proxmox, identity: Identity, last_node: str, hosts: Collection[str] = ()
) -> tuple[Found, tuple[str, ...]]:
    """What is under the VMID; if nothing is, what is left on storages. `hosts` are all that may have its boot data.

    Volumes are listed before the id is found to be free. So none of them can be that of a new VM of this id: its
    configuration would have been there first.
    """
    found = await find(proxmox, identity, last_node)
    if found.presence is not Presence.ABSENT or not last_node:
        return found, ()
    listed = await leftovers(proxmox, identity.vmid, last_node, since=identity.since)
    if not listed:
        own = (await proxmox.inventory.get()).hosts.get(last_node)
        is_done = own is not None and own.online
        elsewhere = [each for each in hosts if each != last_node or not is_done]
        found = replace(found, strays=await strays(proxmox, identity.vmid, elsewhere))
    if not listed and not (found.strays or NO_STRAYS).images:
        return found, ()
    again = await find(proxmox, identity, last_node)
    return (replace(again, strays=found.strays), listed) if again.presence is Presence.ABSENT else (again, ())


async def leftovers(
    proxmox: Proxmox,
    vmid: int,
    node: str,
    contents: Collection[str] = (IMAGES, ISO),
    since: datetime | None = None,
) -> tuple[str, ...]:
    """Disks and the boot image of a VMID on the storages of a host that can be reached. Volumes that the credentials
    may not see are not ours to remove; nor are disks that are older than `since`, when the VMID was reserved, or whose
    storage does not record an age: VMIDs are given out again, and a disk may have outlived an earlier VM."""
    host = (await proxmox.inventory.get()).hosts.get(node)
    if host is None or not host.online:
        return ()
    left: list[str] = []
    for storage in await proxmox.storages.on(node, enabled=True):
        if not storage.active:
            continue
        try:
            if IMAGES in storage.contents and IMAGES in contents:
                own = await disks(proxmox, node, storage.name, vmid)
                left += [each.id for each in own if since is None or (each.made is not None and each.made >= since)]
                if kept := [each.id for each in own if each.id not in left]:
                    log.warning("%s on %s may be of an earlier VM %d: not removed", ", ".join(kept), node, vmid)
            if ISO in storage.contents and ISO in contents:
                listed = await proxmox.storages.content(node, storage.name, content=ISO)
                left += [each.id for each in listed if each.id.endswith(f"/{boot_image(vmid)}")]
        except (Forbidden, NotFound):
            continue
        except ProxmoxError as error:
            # Active, and broken all the same: it keeps no VM from going, as one that is not active does not. Boot data
            # of a VM that stays are looked for until they are gone.
            if isinstance(error, HostUnreachable) or IMAGES not in contents:
                raise
            log.warning("what storage %s of %s has of VM %d stays there: %s", storage.name, node, vmid, error)
    return tuple(sorted(left))


async def disks(proxmox: Proxmox, node: str, storage: str, vmid: int) -> list[Volume]:
    """The disks of a VMID on a storage, dated by the clock of this machine, as reservations are: that of a host which
    is ahead would make the disk of an earlier VM look new. Without a date if the host does not tell its time."""
    listed = await proxmox.storages.content(node, storage, content=IMAGES, vmid=vmid)
    own = [each for each in listed if each.vmid == vmid]
    if not own:
        return []
    try:
        ahead = timedelta(seconds=await proxmox.cluster.clock_ahead(node))
    except ProxmoxError as error:
        log.warning("host %s does not tell its time, so nothing is known of the age of disks there: %s", node, error)
        return [replace(each, made=None) for each in own]
    return [replace(each, made=each.made and each.made - ahead) for each in own]


async def strays(proxmox: Proxmox, vmid: int, hosts: Iterable[str]) -> Strays:
    """The boot image of a VMID on storages that hosts have for themselves. Who moves a VM leaves it behind there."""
    snapshot = await proxmox.inventory.get()
    images: list[tuple[str, str]] = []
    unseen: list[tuple[str, str]] = []
    for name in hosts:
        if (host := snapshot.hosts.get(name)) is None:
            continue  # it is no part of the cluster any more, and what it has is out of anybody's reach
        if not host.online:
            unseen.append((name, f"host {name} is off"))
            continue
        for storage in snapshot.storages_on(name):
            if storage.shared or ISO not in storage.contents:
                continue
            try:
                listed = await proxmox.storages.content(name, storage.name, content=ISO)
                images += [(name, each.id) for each in listed if each.id.endswith(f"/{boot_image(vmid)}")]
            except NotFound:
                continue
            except ProxmoxError as error:
                unseen.append((name, f"storage {storage.name} of {name} cannot be listed: {error.why}"))
    return Strays(tuple(images), tuple(unseen))


async def remove(proxmox: Proxmox, identity: Identity, step: Stop | Destroy | RemoveVolume) -> Upid | None:
    """Do it, after one more look at what it is done to. None: there was nothing to do any more, or not to this."""
    if isinstance(step, RemoveVolume):
        try:
            return await proxmox.storages.delete(step.node, step.volume)
        except NotFound:
            return None
    row = await proxmox.cluster.machine(identity.vmid)
    if row is None or row.node != step.node or (identity.pool and row.pool != identity.pool):
        return None
    found = await find(proxmox, identity, step.node)
    if found.presence is not Presence.OURS or found.stranger or found.node != step.node:
        return None
    if identity.standing is not Standing.LIVE:
        await _announce(proxmox, identity, found)
    elif found.unmarked:
        return None
    managed = found.managed and not await _released(proxmox, identity.vmid)
    if isinstance(step, Stop):
        if step.grace:
            return await proxmox.machines.shutdown(step.node, identity.vmid, timeout=step.grace, force=True)
        # What the HA manager looks after it stops itself, and there is nothing to overrule.
        return await proxmox.machines.stop(step.node, identity.vmid, overrule_shutdown=not managed)
    await check_storages(proxmox, identity.vmid, step.node, found.config)
    try:
        if found.config.get("protection") == "1":
            # A template's flag is copied to its clones; that this VM goes was decided by whoever deleted its machine.
            await proxmox.machines.configure(step.node, identity.vmid, {}, delete=("protection",))
        return await proxmox.machines.destroy(step.node, identity.vmid)
    except (NotFound, WrongState) as error:
        if isinstance(error, WrongState) and not await _runs(proxmox, identity, step.node):
            raise
        return None


async def _announce(proxmox: Proxmox, identity: Identity, found: Found) -> None:
    """Write into the VM that this management API is about to destroy it, unless the VM has changed since it was looked
    at: no other one takes it over from then on, and if one was faster this raises Conflict."""
    description = found.config.get("description")
    known = marker.read(description) or marker.Marker(identity.machine, identity.uid)
    wanted = replace(known, machine=identity.machine, uid=identity.uid, plane=identity.plane, leaving=True)
    if known != wanted:
        options = {"description": marker.marked(description, wanted)}
        await proxmox.machines.configure(found.node, identity.vmid, options, digest=found.config.digest)


async def check_storages(proxmox: Proxmox, vmid: int, node: str, config: MachineConfig) -> None:
    """See that all that the VM has can be reached. Else PVE destroys the VM with a warning and leaves its disks, of
    which nobody knows any more whose they are. Raises WrongState."""
    drives = [each.leading for each in config.disks.values() if _is_own(each, vmid)]
    drives += [config.properties(name).leading for name in (*_OTHER_DRIVES, *config.unused)]
    used = {each.partition(":")[0] for each in drives if each and ":" in each}
    off = sorted(each.name for each in await proxmox.storages.on(node) if each.name in used and not each.active)
    if off:
        message = f"storage {', '.join(off)} cannot be reached from {node}, and what the VM has there would be left"
        remedy = (
            "The VM is destroyed when the storage is back. If it never comes back, its disks there are lost: take the "
            f"lines that name the storage out of /etc/pve/nodes/{node}/qemu-server/{vmid}.conf."
        )
        raise WrongState(Evidence("DELETE", f"/nodes/{node}/qemu/{vmid}", node, message=message), remedy)


def _is_own(drive: PropertyString, vmid: int) -> bool:
    """Whether a drive goes with its VM: not one with a CD image that others use, too."""
    return (
        drive.get("media") != "cdrom"
        or f"vm-{vmid}-" in (drive.leading or "")
        or boot_image(vmid) in (drive.leading or "")
    )


async def _released(proxmox: Proxmox, vmid: int) -> bool:
    """Whether the HA manager does not look after the VM any more. Without the right to that, it is asked to stop it,
    which takes no more than the right to turn off the VM, and to destroy the VM takes it away there too."""
    try:
        await proxmox.high_availability.release(vmid)
    except NotFound:
        return True
    except Forbidden as error:
        log.info("VM %d stays with the HA manager until it is destroyed: %s", vmid, error)
        return False
    return True


async def _runs(proxmox: Proxmox, identity: Identity, node: str) -> bool:
    """Whether somebody has started it meanwhile: then it has to be stopped once more."""
    try:
        return (await proxmox.machines.status(node, identity.vmid)).running
    except ProxmoxError:
        return False
