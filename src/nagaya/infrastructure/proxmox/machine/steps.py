"""What can be done for a machine. A plan has one step at most: after each the world is looked at again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from nagaya.infrastructure.proxmox.boot.network import Network
from nagaya.infrastructure.proxmox.client.high_availability import HaRule
from nagaya.infrastructure.proxmox.machine.hardware import Change
from nagaya.infrastructure.proxmox.machine.network import WantedClaim
from nagaya.infrastructure.proxmox.placement import Placed
from nagaya.infrastructure.proxmox.virtual_machine import removal


@dataclass(frozen=True, slots=True)
class Said:
    """What a condition is to say. None: nobody knows."""

    holds: bool | None
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Take a VMID in our API."""

    pool: str


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Write into the VM that this management API has it, and into its machine what proves that elsewhere. A VM without
    a reservation gets one, with this pool."""

    pool: str = ""


@dataclass(frozen=True, slots=True)
class GiveUpReservation:
    """Let the VMID go: what is under it is not ours, or nothing is and nothing will be."""

    why: str
    """For an event; empty if it is as it should be."""


@dataclass(frozen=True, slots=True)
class CloneTemplate:
    """Clone the template to where the machine was placed."""

    placed: Placed


@dataclass(frozen=True, slots=True)
class Name:
    """Write down which VM it is: VMID and provider ID, once and for all."""

    vmid: int
    provider_id: str


@dataclass(frozen=True, slots=True)
class Configure:
    """Change options of the VM."""

    node: str
    change: Change
    digest: str


@dataclass(frozen=True, slots=True)
class Resize:
    """Grow the disk to start from."""

    node: str
    disk: str
    size: str


@dataclass(frozen=True, slots=True)
class ClaimAddresses:
    """Ask the pools for addresses."""

    claims: tuple[WantedClaim, ...]


@dataclass(frozen=True, slots=True)
class Upload:
    """Put the boot data on a storage of the host, as a CD image."""

    node: str
    storage: str
    network: Network


@dataclass(frozen=True, slots=True)
class Attach:
    """Put the CD image into the drive."""

    node: str
    slot: str
    volume: str
    digest: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """Write the boot data into the guest by its agent, and have it restart."""

    node: str
    network: Network
    stuck: bool = False
    """Whether its cloud-init has not ended, and is not expected to."""


@dataclass(frozen=True, slots=True)
class Erase:
    """Take what is secret out of the boot data in the guest."""

    node: str


@dataclass(frozen=True, slots=True)
class Manage:
    """Have the HA manager look after the VM, or tell it what has changed."""

    options: Mapping[str, str | int]
    delete: tuple[str, ...] = ()
    new: bool = False


@dataclass(frozen=True, slots=True)
class Unmanage:
    """Have the HA manager let go of the VM."""


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a rule of the HA manager these machines."""

    rule: HaRule
    new: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Turn the VM on."""

    node: str


@dataclass(frozen=True, slots=True)
class Resume:
    """Let a paused VM go on."""

    node: str


@dataclass(frozen=True, slots=True)
class Eject:
    """Take the CD image out of the drive, and remove it."""

    node: str
    slots: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Remove:
    """A step of the VM's removal."""

    step: removal.Stop | removal.Destroy | removal.RemoveVolume


@dataclass(frozen=True, slots=True)
class LeaveToReaper:
    """Make the reservation a tombstone: the VM is destroyed when its host is back."""

    node: str


@dataclass(frozen=True, slots=True)
class ReleaseClaims:
    """Give the addresses back."""


Step = (
    Reserve
    | TakeOver
    | GiveUpReservation
    | CloneTemplate
    | Name
    | Configure
    | Resize
    | ClaimAddresses
    | Upload
    | Attach
    | HandOver
    | Erase
    | Manage
    | Unmanage
    | Bind
    | Start
    | Resume
    | Eject
    | Remove
    | LeaveToReaper
    | ReleaseClaims
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what is known from now on."""

    made: Said
    """VirtualMachineProvisioned."""
    healthy: Said
    deleting: Said | None = None
    step: Step | None = None
    silent: bool = False
    """Whether nothing is told: others are about to do something."""
    keep: bool = False
    """Whether what was told stays: nothing is new."""
    hold: bool = False
    """Whether the machine needs its finalizer from here on."""
    release: bool = False
    provisioned: bool = False
    placed: Placed | None = None
    waits_for_turn: bool = False
    node: str = ""
    """The host that the VM is on, or is to be on."""
    clear_task: bool = False
    retry_after: datetime | None = None
    failed: bool = False
    again_after: float | None = None
    addresses: tuple[tuple[str, str], ...] = ()
    """Type and address."""
    device_addresses: Mapping[str, tuple[str, ...]] | None = None
    """By device."""
    has_boot_data: bool = False
    settled: bool = False
    rests: bool = False
    """Whether it is waited after the step: what it sets going is told by nobody."""
