"""How fast disks may be copied: limits of storages and of the data center, and who may overrule them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nagaya.simulators.proxmox.access.rights import Rights
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.state.datacenter import Datacenter


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What limits one operation."""

    rights: Rights
    datacenter: Datacenter
    operation: str
    """clone, move, migration, restore."""
    wanted: int | None = None
    """KiB per second, if the caller says so: then what the caller may change does not hold."""

    def between(self, storages: Iterable[str | None]) -> int | None:
        """KiB per second for a copy that these storages take part in; None if nothing limits it."""
        limit, asked = self.wanted, self.wanted is not None
        if asked and self.rights.may("/storage", ["Datastore.Allocate"]):
            return limit
        limited = True
        for name in dict.fromkeys(storage for storage in storages if storage is not None):
            if asked and self.rights.may(f"/storage/{name}", ["Datastore.Allocate"]):
                continue
            own = self._limit(self.datacenter.storages[name].options.get("bwlimit"))
            limit, limited = _smaller(limit, own), limited and own is not None
        if not limited and not (asked and self.rights.may("/", ["Sys.Modify"])):
            limit = _smaller(limit, self._limit(self.datacenter.options.get("bwlimit")))
        return limit

    def _limit(self, given: Any) -> int | None:
        if not given:
            return None
        known = given if isinstance(given, dict) else options.listed(str(given))
        found = known.get(self.operation, known.get("default"))
        return None if found is None else int(float(found))


def _smaller(limit: int | None, other: int | None) -> int | None:
    return other if other is not None and (not limit or other < limit) else limit
