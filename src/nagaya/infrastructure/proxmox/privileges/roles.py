"""The roles that the credentials of a connection get, one for each place, with the least that is needed there.

A role is granted whole: an entry at a lower path replaces what is inherited from above, so granting one privilege alone
could take away others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from nagaya.infrastructure.proxmox.privileges.operations import Feature, Release, Requirement, operations
from nagaya.infrastructure.proxmox.privileges.place import Place

ROLES: Final[Mapping[Place, str]] = {
    Place.CLUSTER: "NagayaCluster",
    Place.HOSTS: "NagayaHosts",
    Place.MACHINES: "NagayaMachines",
    Place.TEMPLATES: "NagayaTemplates",
    Place.IMAGES: "NagayaImages",
    Place.MEDIA: "NagayaMedia",
    Place.NETWORK: "NagayaNetwork",
    Place.DEVICES: "NagayaDevices",
}
_MORE: Final[Mapping[Place, tuple[str, ...]]] = {
    Place.MACHINES: ("VM.Clone", "VM.GuestAgent.FileRead"),
    Place.NETWORK: ("SDN.Audit",),
}
"""What nothing fails without: to find bridges in lists, to clone templates that are in the pool, and to be told by a
guest why it does not become a Node."""
INHERITED: Final = frozenset(Place) - {Place.CLUSTER}
"""Where a role is passed on to what lies below. The one at the root is not: it would reach everything."""


def privileges(place: Place, release: Release, features: Collection[Feature]) -> tuple[str, ...]:
    """The privileges of the role for a place, in the order of the alphabet. Where one of several is enough, the first
    of them."""
    found = {
        requirement.on(release).any_of[0]
        for operation in operations(*features)
        for requirement in operation.requirements
        if requirement.place == place
    }
    more = {Requirement(place, (each,)).on(release).any_of[0] for each in _MORE.get(place, ())}
    return tuple(sorted(found | more)) if found else ()
