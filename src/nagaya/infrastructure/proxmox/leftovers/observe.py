"""The look at what there is: reservations and machines in the management API, and what Proxmox VE has under them.

No more is read than is needed: the list of everything, and the configurations of VMs that look like ours and that no
reservation is for. Hosts are asked at the same time, and one that does not answer keeps no other from being looked at:
what it may have is told as unseen.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.clusters import management
from nagaya.infrastructure.proxmox.client import Proxmox, Snapshot
from nagaya.infrastructure.proxmox.client.errors import Forbidden, NotFound, ProxmoxError
from nagaya.infrastructure.proxmox.client.rows import MachineRow
from nagaya.infrastructure.proxmox.connection.connections import Connected
from nagaya.infrastructure.proxmox.leftovers.provenance import doubt
from nagaya.infrastructure.proxmox.leftovers.seen import Known, Ownerless, Placed, Seen, Stranger
from nagaya.infrastructure.proxmox.virtual_machine import marker
from nagaya.infrastructure.proxmox.virtual_machine.found import UNFINISHED_LOCKS, Found, Presence, find, is_unfinished
from nagaya.infrastructure.proxmox.virtual_machine.removing import IMAGES, ISO, boot_image, disks
from nagaya.infrastructure.proxmox.virtual_machine.reservations import identity_of, is_for
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound as NoSuchKind

AT_ONCE: Final = 8
"""Questions that are asked of a data center at the same time."""
_BOOT_IMAGE: Final = re.compile(r"/user-data-(\d{1,9})\.iso$")
_SIGHT: Final = frozenset({"VM.Audit", "Pool.Audit", "Datastore.Audit", "Sys.Audit"})
"""What lists leave out rows without."""
T = TypeVar("T")


async def known(client: Client) -> Known:
    """Read the management API. Reservations come first: a machine is there before its reservation is, so one whose
    machine is in the later list is never taken for one without. Raises ApiError, NoAnswer."""
    try:
        reservations = tuple((await client.list(PROXMOX_VIRTUAL_MACHINES)).items)
        machines = (await client.list(PROXMOX_MACHINES)).items
    except NoSuchKind:
        return Known()
    by_name = {(each.metadata.namespace, each.metadata.name): each for each in machines}
    ownerless = []
    for each in reservations:
        machine = by_name.get((each.spec.machine_ref.namespace, each.spec.machine_ref.name))
        if machine is None or not is_for(each, machine):
            ownerless.append(each)
    doubts = {each.metadata.name: await doubt(client, each) for each in ownerless}
    uids = frozenset(each.metadata.uid for each in machines)
    return Known(reservations, tuple(ownerless), uids, doubts, await management.identity(client))


async def observe(connected: Connected, known: Known, pools: Collection[str]) -> Seen:
    """Look at a data center whose findings are fresh. `pools` are those that machines are put in. Raises ProxmoxError
    if nothing can be asked at all."""
    proxmox, findings = connected.proxmox, connected.findings
    assert findings is not None, "whoever looks has asked which data center it is"
    where, datacenter = str(connected.reference), findings.datacenter
    if not datacenter:
        why = (
            f"{where} does not tell which Proxmox VE it is, which takes Sys.Audit on /: nothing there is known as ours."
        )
        return Seen(where, problem=why)
    snapshot = await proxmox.inventory.get(0)
    ownerless = [each for each in known.ownerless if each.spec.datacenter == datacenter]
    reserved = {each.spec.vmid for each in known.reservations if each.spec.datacenter == datacenter}
    turns = asyncio.Semaphore(AT_ONCE)
    managed = await managed_by_ha(proxmox) if ownerless else frozenset()
    held = await _together(
        turns,
        [
            look(proxmox, each, managed, known.plane, goes_on=each.spec.machine_ref.uid in known.uids)
            for each in ownerless
        ],
    )
    held = [replace(each, doubt=known.doubts.get(each.reservation.metadata.name, "")) for each in held]
    rows = [each for each in snapshot.machines.values() if each.vmid not in reserved and _is_like_ours(each, pools)]
    strangers = await _together(turns, [_stranger(proxmox, each, snapshot, known) for each in rows])
    images, silent = await _images(proxmox, snapshot, reserved)
    return Seen(
        where,
        datacenter,
        tuple(held),
        tuple(each for each in strangers if each is not None),
        images,
        tuple(_incomplete(connected, snapshot, silent)),
    )


@dataclass(slots=True)
class Listed:
    """Volumes of all hosts, and what could not be listed."""

    volumes: list[Placed] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


async def volumes_under(proxmox: Proxmox, vmid: int, snapshot: Snapshot) -> Listed:
    """Disks and the boot image of a VMID on every host. Those of a shared storage are told once."""
    found = Listed(unseen=[f"host {each.name} is off" for each in snapshot.hosts.values() if not each.online])

    async def wanted(node: str, storage: str, contents: Collection[str]) -> list[Placed]:
        listed: list[Placed] = []
        if IMAGES in contents:
            listed += [Placed(node, each) for each in await disks(proxmox, node, storage, vmid)]
        if ISO in contents:
            discs = await proxmox.storages.content(node, storage, content=ISO)
            listed += [Placed(node, each) for each in discs if each.id.endswith(f"/{boot_image(vmid)}")]
        return listed

    await _everywhere(proxmox, snapshot, wanted, found)
    return found


async def _everywhere(
    proxmox: Proxmox,
    snapshot: Snapshot,
    ask: Callable[[str, str, Collection[str]], Awaitable[list[Placed]]],
    found: Listed,
) -> None:
    """Ask all hosts that are on about their storages, at the same time; a shared storage is asked about on one."""
    asked: set[str] = set()

    async def one(node: str) -> None:
        try:
            storages = await proxmox.storages.on(node, enabled=True)
        except ProxmoxError as error:
            found.unseen.append(f"storages of {node} cannot be listed ({error.why})")
            return
        for each in storages:
            if not each.contents & {IMAGES, ISO} or (each.shared and each.name in asked):
                continue
            if not each.active:
                found.unseen.append(f"storage {each.name} cannot be reached from {node}")
                continue
            asked.add(each.name)
            try:
                found.volumes += await ask(node, each.name, each.contents)
            except (Forbidden, NotFound) as error:
                found.unseen.append(f"storage {each.name} on {node} may not be listed ({error.why})")
            except ProxmoxError as error:
                found.unseen.append(f"storage {each.name} on {node} cannot be listed ({error.why})")

    await asyncio.gather(*(one(name) for name, host in sorted(snapshot.hosts.items()) if host.online))
    found.volumes.sort(key=lambda each: (each.node, each.volume.id))
    found.unseen.sort()


async def look(
    proxmox: Proxmox, reservation: ProxmoxVirtualMachine, managed: frozenset[int], plane: str, *, goes_on: bool = False
) -> Ownerless:
    """What there is under the VMID of a reservation. Raises ProxmoxError if nothing can be asked at all.

    Volumes are listed before the VMID is looked at, so that none of them can be that of a VM that comes between.
    """
    listed = await volumes_under(proxmox, reservation.spec.vmid, await proxmox.inventory.get(0))
    try:
        found = await find(proxmox, identity_of(reservation, plane), reservation.status.node)
    except ProxmoxError as error:
        found = Found(Presence.HIDDEN, reservation.status.node, why=str(error))
    return Ownerless(
        reservation,
        found,
        tuple(listed.volumes),
        reservation.spec.vmid in managed,
        tuple(listed.unseen),
        goes_on,
    )


async def managed_by_ha(proxmox: Proxmox) -> frozenset[int]:
    """The VMIDs that the HA manager knows. Who may not ask finds none; destroying a VM takes it away there too."""
    try:
        return frozenset(await proxmox.high_availability.resources())
    except ProxmoxError:
        return frozenset()


def _is_like_ours(row: MachineRow, pools: Collection[str]) -> bool:
    if row.template:
        return False
    return row.pool in pools or marker.TAG in row.tags or row.lock in UNFINISHED_LOCKS


async def _stranger(proxmox: Proxmox, row: MachineRow, snapshot: Snapshot, known: Known) -> Stranger | None:
    host = snapshot.hosts.get(row.node)
    if host is None or not host.online:
        return None  # the host is told as off
    try:
        config = await proxmox.machines.config(row.node, row.vmid)
    except ProxmoxError:
        return None  # gone, or not to be read: either way nothing can be said of it
    found = marker.read(config.get("description"))
    if found is not None and found.plane not in ("", known.plane):
        return None  # another management API has it
    if found is not None and found.uid not in known.uids:
        return Stranger(row.vmid, row.node, config.get("name"), found)
    if found is None and is_unfinished(config) and not await _is_cloned(proxmox, row):
        return Stranger(row.vmid, row.node, config.get("name"))
    return None


async def _is_cloned(proxmox: Proxmox, row: MachineRow) -> bool:
    """Whether a clone runs on its host at this moment, which may be its own."""
    try:
        return bool(await proxmox.tasks.running(row.node, "qmclone"))
    except ProxmoxError:
        return True


async def _images(
    proxmox: Proxmox, snapshot: Snapshot, reserved: Collection[int]
) -> tuple[tuple[Placed, ...], list[str]]:
    """CD images that are named as ours are, of VMIDs that nobody has."""
    found = Listed()

    async def named(node: str, storage: str, contents: Collection[str]) -> list[Placed]:
        if ISO not in contents:
            return []
        listed = await proxmox.storages.content(node, storage, content=ISO)
        return [Placed(node, each) for each in listed if _BOOT_IMAGE.search(each.id)]

    await _everywhere(proxmox, snapshot, named, found)
    left = []
    for each in found.volumes:
        match = _BOOT_IMAGE.search(each.volume.id)
        assert match is not None
        vmid = int(match[1])
        taken = vmid in reserved or vmid in snapshot.machines or vmid in snapshot.containers
        if not taken and await _is_free(proxmox, vmid):
            left.append(each)
    return tuple(left), found.unseen


async def _is_free(proxmox: Proxmox, vmid: int) -> bool:
    try:
        return await proxmox.cluster.is_free(vmid)
    except ProxmoxError:
        return False


def _incomplete(connected: Connected, snapshot: Snapshot, silent: Iterable[str]) -> Iterable[str]:
    off = sorted(name for name, host in snapshot.hosts.items() if not host.online)
    if off:
        yield f"{', '.join(off)} {'is' if len(off) == 1 else 'are'} off: what is left there is found when it is back."
    checked, findings = connected.preflight, connected.findings
    for each in checked.missing if checked is not None and findings is not None else ():
        if each.privilege in _SIGHT:
            subject = "" if findings is None else findings.subject
            yield (
                f"{subject} lacks {each.privilege} on {each.path}, so Proxmox VE may hide something. On any host run: "
                f"{each.command}"
            )
    yield from (f"{each[:1].upper()}{each[1:]}: what is left there is not seen." for each in silent)


async def _together(turns: asyncio.Semaphore, work: Iterable[Awaitable[T]]) -> list[T]:
    async def one(each: Awaitable[T]) -> T:
        async with turns:
            return await each

    return list(await asyncio.gather(*(one(each) for each in work)))
