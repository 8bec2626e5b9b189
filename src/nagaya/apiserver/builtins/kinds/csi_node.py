"""CSI nodes: the drivers that a node has."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, invalid, repeated, required, too_long
from nagaya.apiserver.meta.status import JsonObject

_DRIVERS: Final = Path("spec").child("drivers")
_LONGEST_ID: Final = 256
_LONGEST_DRIVER: Final = 63


class CSINodeStrategy(OrderedStrategy):
    """CSINode."""

    allow_unconditional_update = False
    returns_deleted = True
    update_steps = (Step.METADATA, Step.RULES, Step.CHANGES)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """A driver that is there stays as it is, but for how many volumes it can take."""
        from nagaya.apiserver.builtins.kinds.core_goshape import shape
        from nagaya.apiserver.builtins.kinds.ordered_strategy import immutable_shape

        driver = shape("Name=name:s NodeID=nodeID:s TopologyKeys=topologyKeys:p Allocatable=allocatable:p")
        by_name: dict[str, list[JsonObject]] = {}
        for mine in new["spec"]["drivers"] or ():
            by_name.setdefault(mine["name"], []).append(mine)
        return [
            error
            for before in old["spec"]["drivers"] or ()
            for mine in by_name.get(before["name"], ())
            for error in immutable_shape(_DRIVERS, driver, _fixed(mine), _fixed(before))
        ]

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Drivers with names, the node's name for them, and topology."""
        errors: list[FieldError] = []
        seen: set[str] = set()
        for position, driver in enumerate(obj["spec"]["drivers"] or ()):
            where = _DRIVERS.index(position)
            errors += driver_name_errors(driver["name"], where.child("name"))
            node = driver["nodeID"]
            if not node:
                errors.append(required(where.child("nodeID")))
            if names.size(node) > _LONGEST_ID:
                errors.append(invalid(where.child("nodeID"), node, f"must be {_LONGEST_ID} characters or less"))
            count = (driver.get("allocatable") or {}).get("count")
            if count is not None and count < 0:
                place = where.child("allocatable", "count")
                errors.append(invalid(place, count, "must be greater than or equal to 0"))
            if driver["name"] in seen:
                errors.append(duplicate(where.child("name"), driver["name"]))
            seen.add(driver["name"])
            errors += _topology_errors(driver.get("topologyKeys") or [], where)
        return errors


def _fixed(driver: JsonObject) -> JsonObject:
    fixed = {member: value for member, value in driver.items() if member != "allocatable"}
    # An empty list and none are the same.
    fixed["topologyKeys"] = driver.get("topologyKeys") or None
    return fixed


def _topology_errors(keys: list[str], where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    again = dict(repeated(keys))
    for position, key in enumerate(keys):
        if not key:
            errors.append(required(where))
        if position in again:
            errors.append(duplicate(where, key))
        errors += [invalid(where, key, problem) for problem in names.qualified_name(key)]
    return errors


def driver_name_errors(name: str, where: Path) -> list[FieldError]:
    """What is wrong with the name of a driver."""
    if not name:
        return [required(where)]
    errors = [too_long(where, _LONGEST_DRIVER)] if names.size(name) > _LONGEST_DRIVER else []
    return errors + [invalid(where, name, problem) for problem in names.dns_subdomain(name.lower())]
