"""Everything that a judgement on leftovers in one data center may depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nagaya.api.proxmox.proxmox_virtual_machine import ProxmoxVirtualMachine
from nagaya.infrastructure.proxmox.client.storages import Volume
from nagaya.infrastructure.proxmox.virtual_machine.found import Found
from nagaya.infrastructure.proxmox.virtual_machine.marker import Marker


@dataclass(frozen=True, slots=True)
class Placed:
    """A volume, and a host that has it."""

    node: str
    volume: Volume


@dataclass(frozen=True, slots=True)
class Ownerless:
    """A reservation whose machine is gone, and what there is under its VMID."""

    reservation: ProxmoxVirtualMachine
    found: Found
    volumes: tuple[Placed, ...] = ()
    """Disks and CD images under the VMID, listed before the VMID was looked at."""
    managed: bool = False
    """Whether the HA manager has an entry for the VMID."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, a clause each: something of it may be there."""
    goes_on: bool = False
    """Whether its machine is there and has another VMID by now, because its first clone was killed."""
    doubt: str = ""
    """Why the reservation proves nothing, a sentence: it was made elsewhere, or its cluster is being moved."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A VM that looks like ours, and no reservation is for it."""

    vmid: int
    node: str
    name: str = ""
    marker: Marker | None = None
    """None: a clone that has not ended."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One data center."""

    where: str
    """The connection by which it is looked at, in words."""
    datacenter: str = ""
    ownerless: tuple[Ownerless, ...] = ()
    strangers: tuple[Stranger, ...] = ()
    images: tuple[Placed, ...] = ()
    """CD images with names as ours, for VMIDs that nobody has, here or there."""
    incomplete: tuple[str, ...] = ()
    """What may hide more: hosts that are off, rights that are missing. A sentence each."""
    problem: str = ""
    """Why nothing can be seen at all."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the management API has, read at one moment."""

    reservations: tuple[ProxmoxVirtualMachine, ...] = ()
    """All of them."""
    ownerless: tuple[ProxmoxVirtualMachine, ...] = ()
    """Those whose machine is gone, or goes on with another VMID."""
    uids: frozenset[str] = field(default_factory=frozenset)
    """Of all ProxmoxMachines."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """Why reservations without a machine prove nothing, by their names."""
    plane: str = ""
    """Which management API this is."""
