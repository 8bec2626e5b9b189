"""What the provider does in Proxmox VE, and the privileges that PVE asks for it.

Written from the recorded answers of PVE 9.2, which name the missing privilege of each call. What surprises: a clone
into a pool needs VM.Allocate on the pool only; a changed network device needs SDN.Use even when its bridge stays;
`boot` belongs to VM.Config.Disk; lists leave out, without a word, what may not be seen, so seeing is an operation of
its own here. PVE 8 has one privilege, VM.Monitor, for all that is done through the guest agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nagaya.infrastructure.proxmox.privileges.place import Place

Release = tuple[int, int]
SPLIT_AGENT: Final[Release] = (9, 0)
"""Since when what is done through the guest agent has several privileges."""
_MONITOR: Final = "VM.Monitor"
_AGENT: Final = "VM.GuestAgent."


class Feature(StrEnum):
    """What an operation is for."""

    ALWAYS = "always"
    ISO = "iso"
    """Boot data on a CD."""
    NATIVE = "native"
    """Boot data by PVE's cloud-init drive and the guest agent."""
    HIGH_AVAILABILITY = "ha"
    DEVICES = "devices"
    IMAGES = "images"
    """Templates made from images: what that needs is in `image`."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One of some privileges, at a place."""

    place: Place
    any_of: tuple[str, ...]
    in_pools: bool = False
    """Whether it is needed only where machines are put into a pool."""

    def on(self, release: Release) -> Requirement:
        """As this version of PVE names it."""
        if release >= SPLIT_AGENT:
            return self
        names = dict.fromkeys(_MONITOR if each.startswith(_AGENT) else each for each in self.any_of)
        return Requirement(self.place, tuple(names), self.in_pools)


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that the provider does."""

    name: str
    """As the end of: the credentials may not ..."""
    requirements: tuple[Requirement, ...]
    feature: Feature = Feature.ALWAYS


def _all(place: Place, *privileges: str) -> tuple[Requirement, ...]:
    return tuple(Requirement(place, (each,)) for each in privileges)


_UNRESTRICTED: Final = "VM.GuestAgent.Unrestricted"

OPERATIONS: Final = (
    Operation("see whether the cluster has quorum", _all(Place.CLUSTER, "Sys.Audit")),
    Operation("see how much room hosts have", _all(Place.HOSTS, "Sys.Audit")),
    Operation("see machines", _all(Place.MACHINES, "VM.Audit")),
    # No list says in which pool a machine is without it, and one in another pool is never destroyed.
    Operation("see which machines are in the pool", (Requirement(Place.MACHINES, ("Pool.Audit",), in_pools=True),)),
    Operation("see how much room storages have", _all(Place.IMAGES, "Datastore.Audit")),
    Operation(
        "clone machines",
        (
            *_all(Place.TEMPLATES, "VM.Clone", "VM.Audit"),
            *_all(Place.MACHINES, "VM.Allocate"),
            *_all(Place.IMAGES, "Datastore.AllocateSpace"),
            *_all(Place.NETWORK, "SDN.Use"),
        ),
    ),
    Operation(
        "configure machines",
        _all(
            Place.MACHINES,
            "VM.Config.CPU",
            "VM.Config.Memory",
            "VM.Config.Network",
            "VM.Config.Options",
            "VM.Config.HWType",
            "VM.Config.Disk",
        ),
    ),
    Operation("start and stop machines", _all(Place.MACHINES, "VM.PowerMgmt")),
    Operation(
        "ask guest agents for addresses",
        (Requirement(Place.MACHINES, ("VM.GuestAgent.Audit", _UNRESTRICTED)),),
    ),
    Operation("destroy machines", _all(Place.MACHINES, "VM.Allocate")),
    Operation(
        "deliver boot data on a CD, and remove it",
        (
            *_all(Place.MEDIA, "Datastore.AllocateTemplate", "Datastore.Allocate", "Datastore.Audit"),
            # With the second, a cloud-init drive that a clone has from its template is taken out.
            *_all(Place.MACHINES, "VM.Config.CDROM", "VM.Config.Cloudinit"),
        ),
        Feature.ISO,
    ),
    Operation(
        "deliver boot data by the cloud-init drive and the guest agent",
        (
            *_all(Place.MACHINES, "VM.Config.Cloudinit", "VM.Config.CDROM"),
            Requirement(Place.MACHINES, ("VM.GuestAgent.FileWrite", _UNRESTRICTED)),
            Requirement(Place.MACHINES, (_UNRESTRICTED,)),
        ),
        Feature.NATIVE,
    ),
    Operation("have the HA manager look after machines", _all(Place.CLUSTER, "Sys.Console"), Feature.HIGH_AVAILABILITY),
    Operation("give machines devices of hosts", _all(Place.DEVICES, "Mapping.Use"), Feature.DEVICES),
)


def operations(*features: Feature) -> tuple[Operation, ...]:
    """The operations that are for these."""
    return tuple(each for each in OPERATIONS if each.feature in features)
