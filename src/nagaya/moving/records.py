"""Statuses that are carried, because they are records and not observations: nobody finds them out from the world. Pure.

The reservation of a VM says which hosts may have its boot data, secrets among them, also after the VM has left them;
and that a VM may be destroyed whose machine is gone. Forgotten on the way, the first would stay where they are and the
second would run for ever.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.proxmox.proxmox_virtual_machine import LEFT, PROXMOX_VIRTUAL_MACHINES
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.machine.controller import MANAGER
from nagaya.moving.item import Item

WRITER: Final = MANAGER
"""Under whose name they are written at the target: that of the controller which takes them back when their time comes.
Under another it could not."""
_FIELDS: Final = ("node", "phase", "bootDataOn")


def record(item: Item) -> dict[str, Any]:
    """What of its status has to be at the target before the source may forget it; of most objects nothing."""
    if not _is_reservation(item):
        return {}
    told = item.object.at("status") or {}
    return {field: told[field] for field in _FIELDS if told.get(field)}


def is_kept(item: Item, there: Untyped) -> bool:
    """Whether an object of the target has it."""
    return all(there.at("status", field) == value for field, value in record(item).items())


def is_left(item: Item) -> bool:
    """Whether it is the reservation of a VM whose machine is gone: no Cluster pauses it, and somebody waits to act."""
    return _is_reservation(item) and item.object.at("status", "phase") in LEFT


def _is_reservation(item: Item) -> bool:
    return (item.kind.group, item.kind.kind) == (PROXMOX_VIRTUAL_MACHINES.group, PROXMOX_VIRTUAL_MACHINES.kind)
