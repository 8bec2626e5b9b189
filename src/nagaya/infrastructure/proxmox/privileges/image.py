"""What making images asks of credentials: downloads by hosts, and templates from what they downloaded.

These rights are apart from what machines need: whoever only runs clusters from templates that others make does not need
them. PVE asks for a right on the host's network because a host that downloads can be made to look around in it; rights
on the whole data center do instead, as they did before that right existed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.privileges.commands import grant_line, role_line
from nagaya.infrastructure.proxmox.privileges.held import Held
from nagaya.infrastructure.proxmox.privileges.missing import Missing
from nagaya.infrastructure.proxmox.privileges.operations import Feature, Operation, Release, Requirement
from nagaya.infrastructure.proxmox.privileges.place import Place, Scope, Spot, spots
from nagaya.infrastructure.proxmox.privileges.roles import INHERITED, ROLES, privileges

_NETWORK_OF_HOST: Final = "Sys.AccessNetwork"
_INSTEAD: Final = ("Sys.Audit", "Sys.Modify")
"""On the whole data center, both of them."""
_ENABLE: Final = "let a storage take images (--enable-import)"
STORAGE_ADMIN_ROLE: Final = "PVEDatastoreAdmin"
"""One of PVE's own; needed once, by whoever lets a storage take images."""


def _all(place: Place, *names: str) -> tuple[Requirement, ...]:
    return tuple(Requirement(place, (each,)) for each in names)


DOWNLOADING: Final = Operation(
    "have hosts download images",
    (*_all(Place.MEDIA, "Datastore.AllocateTemplate", "Datastore.Audit"), *_all(Place.HOSTS, _NETWORK_OF_HOST)),
)
MAKING: Final = Operation(
    "make templates from images",
    (
        *_all(Place.IMAGES, "Datastore.AllocateSpace", "Datastore.Audit"),
        *_all(
            Place.MACHINES,
            "VM.Allocate",
            "VM.Audit",
            "VM.Config.CPU",
            "VM.Config.Disk",
            "VM.Config.HWType",
            "VM.Config.Memory",
            "VM.Config.Network",
            "VM.Config.Options",
        ),
        *_all(Place.NETWORK, "SDN.Use"),
    ),
)
CLEANING: Final = Operation("remove files that were downloaded", _all(Place.MEDIA, "Datastore.Allocate"))
IMAGE_OPERATIONS: Final = (DOWNLOADING, MAKING, CLEANING)


@dataclass(frozen=True, slots=True)
class ImageScope:
    """What a run works with."""

    hosts: tuple[str, ...] = ()
    """Those that download. Empty: nothing is downloaded."""
    import_storages: tuple[str, ...] = ()
    storages: tuple[str, ...] = ()
    pool: str = ""
    bridge: str = ""
    enables: str = ""
    """The storage that is to take images from now on."""


def image_privileges(
    place: Place, release: Release, features: Iterable[Feature] = (Feature.ALWAYS,)
) -> tuple[str, ...]:
    """The privileges of the role for a place, with those that images need: the role is granted whole."""
    own = {
        requirement.on(release).any_of[0]
        for operation in IMAGE_OPERATIONS
        for requirement in operation.requirements
        if requirement.place == place
    }
    return tuple(sorted(own | set(privileges(place, release, tuple(features)))))


def image_missing(held: Held, scope: ImageScope, release: Release, subject: str) -> tuple[Missing, ...]:
    """What a run lacks. That a downloaded file cannot be removed again keeps nobody from making images, so it is no
    part of this: see `may_clean`."""
    found: dict[tuple[str, str], Missing] = {}

    def lacks(place: Place, spot: Spot, privilege: str, operation: str) -> None:
        role = ROLES[place]
        grant = grant_line(spot.path, role, subject, propagate=place in INHERITED)
        command = f"{role_line(role, image_privileges(place, release))}; {grant}"
        found.setdefault((spot.path, privilege), Missing(spot.path, privilege, operation, command))

    whole = all(held.holds("/", each) for each in _INSTEAD)
    if not whole:
        for host in scope.hosts:
            if not held.holds(f"/nodes/{host}", _NETWORK_OF_HOST):
                # What is granted on a host itself hides what is granted on all.
                alone = f"/nodes/{host}" in held.by_path
                lacks(Place.HOSTS, Spot(f"/nodes/{host}" if alone else "/nodes"), _NETWORK_OF_HOST, DOWNLOADING.name)
    where = Scope(pool=scope.pool, storages=scope.storages, bridges=(scope.bridge,) if scope.bridge else ())
    media = [Scope(iso_storage=each) for each in scope.import_storages]
    for operation in (DOWNLOADING, MAKING) if scope.hosts else (MAKING,) if scope.storages else ():
        for requirement in operation.requirements:
            if requirement.place == Place.HOSTS:
                continue
            for each in media if requirement.place == Place.MEDIA else [where]:
                for spot in spots(requirement.place, each):
                    wanted = requirement.on(release).any_of
                    if not any(held.holds(path, name) for path in spot.candidates(held.by_path) for name in wanted):
                        lacks(requirement.place, spot, wanted[0], operation.name)
    if scope.enables and not held.holds("/storage", "Datastore.Allocate"):
        command = grant_line("/storage", STORAGE_ADMIN_ROLE, subject, propagate=True)
        found["/storage", "Datastore.Allocate"] = Missing("/storage", "Datastore.Allocate", _ENABLE, command)
    return tuple(found.values())


def may_clean(held: Held, storage: str) -> bool:
    """Whether a file that was downloaded can be removed again."""
    return held.holds(f"/storage/{storage}", "Datastore.Allocate")
