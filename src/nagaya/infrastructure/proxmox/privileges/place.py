"""The places in Proxmox VE's tree of paths where the provider needs privileges, and which paths they are.

What a connection does not name (a storage, a bridge) may be any: then it is enough that the privilege is held somewhere
below. A preflight must never be stricter than PVE itself, or it would keep away what works.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LOCAL_ZONE: Final = "localnetwork"
"""The zone that the bridges of hosts are in; virtual networks have zones of their own."""


class Place(StrEnum):
    """Where privileges are needed."""

    CLUSTER = "cluster"
    HOSTS = "hosts"
    MACHINES = "machines"
    TEMPLATES = "templates"
    IMAGES = "images"
    MEDIA = "media"
    NETWORK = "network"
    DEVICES = "devices"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a connection works with. What is empty may be anything."""

    pool: str = ""
    """Where machines are put. Without one, rights on all machines are needed."""
    template_pool: str = ""
    """Where templates are, if not in `pool`."""
    templates: tuple[int, ...] = ()
    """VMIDs of templates that are used."""
    storages: tuple[str, ...] = ()
    """For disks."""
    iso_storage: str = ""
    import_storages: tuple[str, ...] = ()
    """Where hosts download images to."""
    bridges: tuple[str, ...] = ()
    """Bridges or virtual networks. One whose zone is known is written zone/name."""
    zones: tuple[str, ...] = ()
    """Zones of which any network may be used."""
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """Mappings of PCI devices."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A path where privileges are needed, or one of several that would do."""

    path: str
    """Where they are granted if they are missing."""
    checked: tuple[str, ...] = ()
    """The paths that are looked at, if not this one. Something below is written as `/vms/-`."""
    also: tuple[str, ...] = ()
    """Patterns of further paths that would do; `*` stands for one name."""

    def candidates(self, known: Iterable[str]) -> Iterator[str]:
        """The paths that would do, of those that are known."""
        yield from self.checked or (self.path,)
        listed = [*known]
        for each in self.also:
            pattern, below = _pattern(each.removesuffix(_BELOW)), _BELOW if each.endswith(_BELOW) else ""
            yield from (f"{path}{below}" for path in listed if pattern.fullmatch(path))


def spots(place: Place, scope: Scope) -> tuple[Spot, ...]:
    """The paths of a place. Privileges are needed on each of them."""
    match place:
        case Place.CLUSTER:
            return (Spot("/"),)
        case Place.HOSTS:
            hosts = tuple(Spot(f"/nodes/{name}") for name in scope.hosts)
            return hosts or (Spot("/nodes", ("/nodes/-",), ("/nodes/*",)),)
        case Place.MACHINES:
            if not scope.pool:
                return (Spot("/vms", ("/vms/-",), ("/pool/*",)),)
            return (Spot(_pool(scope.pool), (_pool(scope.pool), "/vms/-")),)
        case Place.TEMPLATES:
            return _templates(scope)
        case Place.IMAGES:
            return tuple(Spot(_storage(name)) for name in scope.storages) or (_ANY_STORAGE,)
        case Place.MEDIA:
            named = dict.fromkeys(filter(None, (scope.iso_storage, *scope.import_storages)))
            return tuple(Spot(_storage(name)) for name in named) or (_ANY_STORAGE,)
        case Place.NETWORK:
            return (*map(_bridge, scope.bridges), *map(_zone, scope.zones)) or (_ANY_BRIDGE,)
        case Place.DEVICES:
            return tuple(Spot(f"/mapping/pci/{name}") for name in scope.devices)


def role_at(place: Place, path: str, scope: Scope) -> Place:
    """The place whose role is given at one of its paths: that for machines has what templates in their pool need."""
    in_pool = place is Place.TEMPLATES and path == spots(Place.MACHINES, scope)[0].path
    return Place.MACHINES if in_pool else place


_BELOW: Final = "/-"
_ANY_STORAGE: Final = Spot("/storage", ("/storage/-",), ("/storage/*",))
_ANY_BRIDGE: Final = Spot(
    f"/sdn/zones/{LOCAL_ZONE}",
    (f"/sdn/zones/{LOCAL_ZONE}/-",),
    ("/sdn/zones/*/-", "/sdn/zones/*/*", "/sdn/zones/*/*/*"),
)


def _zone(name: str) -> Spot:
    return Spot(f"/sdn/zones/{name}", (f"/sdn/zones/{name}/-",))


def _bridge(name: str) -> Spot:
    if "/" in name:
        return Spot(f"/sdn/zones/{name}")
    path = f"/sdn/zones/{LOCAL_ZONE}/{name}"
    return Spot(path, (path,), (f"/sdn/zones/*/{name}", f"/sdn/zones/*/{name}/*"))


def _templates(scope: Scope) -> tuple[Spot, ...]:
    if scope.templates:
        return tuple(Spot(f"/vms/{vmid}") for vmid in scope.templates)
    if scope.template_pool:
        return (Spot(_pool(scope.template_pool)),)
    path = _pool(scope.pool) if scope.pool else "/vms"
    return (Spot(path, (path, "/vms/-"), ("/vms/*", "/pool/*")),)


def _pool(name: str) -> str:
    return f"/pool/{name}"


def _storage(name: str) -> str:
    return f"/storage/{name}"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("[^/]+".join(map(re.escape, text.split("*"))))
