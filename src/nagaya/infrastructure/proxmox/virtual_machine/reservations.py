"""Reservations in the cache, found by the machine that they are for."""

from __future__ import annotations

from typing import Final

from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import (
    DELETED,
    LEFT,
    PROXMOX_VIRTUAL_MACHINES,
    ProxmoxVirtualMachine,
    ProxmoxVirtualMachinePhase,
)
from nagaya.infrastructure.proxmox.virtual_machine.found import Identity, Standing
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound

BY_MACHINE: Final = "proxmox-machine"
"""The index by the uid, and by `namespace/name`, of their ProxmoxMachine."""


def index_reservations(cache: Cache) -> None:
    """Keep reservations, and have them found."""
    if not cache.has(PROXMOX_VIRTUAL_MACHINES):
        cache.start(PROXMOX_VIRTUAL_MACHINES)
    cache.add_index(PROXMOX_VIRTUAL_MACHINES, BY_MACHINE, _of_machine)


def is_left(reservation: ProxmoxVirtualMachine) -> bool:
    """Whether it was left to the reaper."""
    return reservation.status.phase in LEFT


def identity_of(reservation: ProxmoxVirtualMachine, plane: str) -> Identity:
    """The VM of a reservation without a machine, as a management API may know it. The claim counts where the machine
    was deleted on purpose: such a reservation may have come with a move."""
    spec, whose = reservation.spec, reservation.spec.machine_ref
    deleted = reservation.status.phase in DELETED
    return Identity(
        spec.vmid,
        spec.name,
        whose.uid,
        spec.pool,
        since=reservation.metadata.creation_timestamp,
        machine=f"{whose.namespace}/{whose.name}",
        plane=plane,
        claim=spec.claim if is_left(reservation) else "",
        standing=Standing.DELETED if deleted else Standing.VANISHED,
    )


def is_untouched(reservation: ProxmoxVirtualMachine) -> bool:
    """Whether nothing was ever cloned under its VMID: what is there is somebody else's, whatever it is."""
    return reservation.status.phase in ("", ProxmoxVirtualMachinePhase.RESERVED)


def is_for(reservation: ProxmoxVirtualMachine, machine: ProxmoxMachine) -> bool:
    """Whether it is the reservation of this machine, which has the name that it is for. A machine that was moved here
    has another uid, and the VMID in its spec; and one whose clone was killed goes on under another VMID and has left
    the first behind."""
    if machine.spec.virtual_machine_id == reservation.spec.vmid:
        return True
    return machine.metadata.uid == reservation.spec.machine_ref.uid and not is_left(reservation)


def _of_machine(reservation: ProxmoxVirtualMachine) -> tuple[str, ...]:
    whose = reservation.spec.machine_ref
    return (whose.uid, f"{whose.namespace}/{whose.name}")


async def has_machine(client: Client, reservation: ProxmoxVirtualMachine) -> bool:
    """Whether its machine is there: asked of the API server itself, as a cache need not have all namespaces."""
    whose = reservation.spec.machine_ref
    try:
        return is_for(reservation, await client.get(PROXMOX_MACHINES, whose.namespace, whose.name))
    except NotFound:
        return False
