"""The formats that schemas refer to by name.

Each says in PVE's words why a string is not of it. A test holds this list against the names that the surface uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from nagaya.simulators.proxmox.verification.formats import (
    addresses,
    guests,
    identifiers,
    property_strings,
    software_networks,
    storages,
)
from nagaya.simulators.proxmox.verification.formats.kinds import Check, PropertyFormat

__all__ = ["Check", "PropertyFormat", "find"]


@cache
def _all() -> Mapping[str, Check | PropertyFormat]:
    return MappingProxyType(
        {
            **addresses.FORMATS,
            **guests.FORMATS,
            **identifiers.FORMATS,
            **property_strings.formats(),
            **software_networks.FORMATS,
            **storages.FORMATS,
        }
    )


def find(name: str) -> Check | PropertyFormat | None:
    """The format of that name, without -list or -opt."""
    return _all().get(name)
