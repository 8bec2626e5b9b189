"""The removal of what is left of one machine: VM, boot image, disks, the entry of the HA manager, then the reservation.

What always holds: before each call that takes something away, the management API is asked whether the machine is still
gone, and Proxmox VE whether the thing is still the one that is meant. The reservation goes last, so a run that is
interrupted anywhere is found again by the next one. A reply that is lost leads to another look, never to a second call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from nagaya.api.proxmox.proxmox_virtual_machine import FINALIZER, PROXMOX_VIRTUAL_MACHINES, ProxmoxVirtualMachine
from nagaya.clusters import management
from nagaya.infrastructure.proxmox.client import Proxmox
from nagaya.infrastructure.proxmox.client.errors import Conflict as Changed
from nagaya.infrastructure.proxmox.client.errors import (
    HostUnreachable,
    NotFound,
    ProxmoxError,
    TaskFailed,
    TaskVanished,
)
from nagaya.infrastructure.proxmox.leftovers.observe import look, managed_by_ha
from nagaya.infrastructure.proxmox.leftovers.plan import proven
from nagaya.infrastructure.proxmox.leftovers.provenance import doubt
from nagaya.infrastructure.proxmox.leftovers.seen import Ownerless, Placed
from nagaya.infrastructure.proxmox.virtual_machine import removing
from nagaya.infrastructure.proxmox.virtual_machine.found import Presence
from nagaya.infrastructure.proxmox.virtual_machine.removal import LOOK_AGAIN, Destroy, Stop, removal
from nagaya.infrastructure.proxmox.virtual_machine.reservations import has_machine, identity_of
from nagaya.kube.client import Client
from nagaya.kube.errors import Conflict
from nagaya.kube.errors import NotFound as NoSuchObject
from nagaya.kube.patches import Merge

ROUNDS: Final = 12
"""How often it is looked at what comes next, before somebody else seems to be at work against us."""
LOOKS: Final = 3
"""How often it is looked whether a volume is gone of which nobody has said so."""
Tell = Callable[[str], None]


class Stays(Exception):
    """Something of it stays. The text is a sentence that says why."""


class _Settled(Exception):
    """The reservation is gone: the controllers, or another run, have done the rest."""


async def remove(client: Client, proxmox: Proxmox, reservation: ProxmoxVirtualMachine, tell: Tell) -> None:
    """Take away all that is left under a reservation, and the reservation. Raises Stays, ProxmoxError, ApiError."""
    try:
        await _remove(client, proxmox, reservation, tell)
    except _Settled:
        tell(f"ProxmoxVirtualMachine {reservation.metadata.name} is gone: somebody else has seen to it.")


async def _remove(client: Client, proxmox: Proxmox, reservation: ProxmoxVirtualMachine, tell: Tell) -> None:
    await _check_ownerless(client, reservation)
    held = await _without_vm(client, proxmox, reservation, tell)
    if held.found.presence is Presence.ABSENT:
        for each in proven(held):
            await _check_ownerless(client, reservation)
            tell(f"{each.volume.id} on {each.node} is removed.")
            await _remove_volume(proxmox, each)
        if reservation.spec.vmid in await managed_by_ha(proxmox):
            tell(f"HA resource vm:{reservation.spec.vmid} is removed.")
            await _release_from_ha(proxmox, reservation.spec.vmid)
        if held.unseen:
            raise Stays(
                f"ProxmoxVirtualMachine {reservation.metadata.name} stays, as disks may be left where nobody can look "
                f"now: {'; '.join(held.unseen)}."
            )
    await _check_ownerless(client, reservation)
    tell(f"ProxmoxVirtualMachine {reservation.metadata.name} is removed.")
    await _release(client, reservation)


async def _without_vm(client: Client, proxmox: Proxmox, reservation: ProxmoxVirtualMachine, tell: Tell) -> Ownerless:
    """What there is once the VM is gone. Raises Stays."""
    plane = await management.identity(client)
    identity, told, failed = identity_of(reservation, plane), "", ""
    for _ in range(ROUNDS):
        held = await look(proxmox, reservation, frozenset(), plane)
        if held.found.presence in (Presence.ABSENT, Presence.FOREIGN):
            return held
        next_one = removal(identity.vmid, held.found, None)
        if not isinstance(next_one.step, Stop | Destroy):
            raise Stays(f"VM {identity.vmid} ({identity.name}) stays. {next_one.message}")
        await _check_ownerless(client, reservation)
        if next_one.message != told:
            told = next_one.message
            tell(f"VM {identity.vmid} ({identity.name}): {told}")
        try:
            task = await removing.remove(proxmox, identity, next_one.step)
            if task is not None:
                await proxmox.tasks.wait(task)
        except (TaskVanished, Changed):
            continue  # how it ended, or who has changed the VM, is seen at the next look
        except HostUnreachable as error:
            if not error.may_have_happened:
                raise
        except TaskFailed as error:
            # Once it may be that an earlier run has ordered the same, and was faster.
            if str(error.exitstatus) == failed:
                raise Stays(f"VM {identity.vmid} ({identity.name}) stays: {error}") from error
            failed = str(error.exitstatus)
        else:
            if task is not None and not isinstance(next_one.step, Stop):
                continue
        await asyncio.sleep(LOOK_AGAIN)
    raise Stays(f"VM {identity.vmid} ({identity.name}) is still there after {ROUNDS} tries: somebody else is at it.")


async def _check_ownerless(client: Client, reservation: ProxmoxVirtualMachine) -> None:
    """Raise Stays if the reservation has a machine, _Settled if it is gone."""
    name, whose = reservation.metadata.name, reservation.spec.machine_ref
    try:
        present = await client.get(PROXMOX_VIRTUAL_MACHINES, "", name)
    except NoSuchObject:
        raise _Settled from None
    if present.metadata.uid != reservation.metadata.uid:
        raise _Settled
    if why := await doubt(client, present):
        raise Stays(why)
    if await has_machine(client, present):
        raise Stays(f"ProxmoxMachine {whose.namespace}/{whose.name} is there by now: nothing of it is touched.")


async def _remove_volume(proxmox: Proxmox, placed: Placed) -> None:
    try:
        await proxmox.tasks.wait(await proxmox.storages.delete(placed.node, placed.volume.id))
    except NotFound:
        return
    except HostUnreachable as error:
        if not error.may_have_happened:
            raise
        if not await _vanishes(proxmox, placed):
            raise
    except TaskFailed as error:
        raise Stays(f"{placed.volume.id} on {placed.node} stays: {error}") from error


async def _vanishes(proxmox: Proxmox, placed: Placed) -> bool:
    """Whether a volume goes whose removal was ordered, as it seems."""
    storage = placed.volume.id.partition(":")[0]
    for _ in range(LOOKS):
        await asyncio.sleep(LOOK_AGAIN)
        left = await proxmox.storages.content(placed.node, storage, content=placed.volume.content)
        if not any(each.id == placed.volume.id for each in left):
            return True
    return False


async def _release_from_ha(proxmox: Proxmox, vmid: int) -> None:
    try:
        await proxmox.high_availability.release(vmid)
    except NotFound:
        return
    except ProxmoxError as error:
        raise Stays(f"HA resource vm:{vmid} stays: {error}") from error


async def _release(client: Client, reservation: ProxmoxVirtualMachine) -> None:
    name = reservation.metadata.name
    for _ in range(ROUNDS):
        try:
            left = await client.delete(PROXMOX_VIRTUAL_MACHINES, "", name, uid=reservation.metadata.uid)
            if left is None or FINALIZER not in left.metadata.finalizers:
                return
            rest = [each for each in left.metadata.finalizers if each != FINALIZER]
            held = Merge({"metadata": {"finalizers": rest}}, left.metadata.resource_version)
            await client.patch(PROXMOX_VIRTUAL_MACHINES, "", name, held)
            return
        except NoSuchObject:
            return
        except Conflict:
            continue  # the controllers have written to it meanwhile
    raise Stays(f"ProxmoxVirtualMachine {name} changes all the time: run the same again.")
