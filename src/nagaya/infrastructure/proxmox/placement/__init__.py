"""Placement: which host a machine goes to, which template and storages it is made from, and why not the other hosts.

Pure: `place` asks nobody and changes nothing. What it needs is in `inventory` (what there is), `reservation` (what is
promised and not seen yet) and `wish` (what is asked for, and by which rules). Having no host is never final, and the
answer always has a sentence for every host that the machine is not on.
"""

from __future__ import annotations

from nagaya.infrastructure.proxmox.placement.choice import place
from nagaya.infrastructure.proxmox.placement.decision import Decision, Placed, Refused, WhyNot
from nagaya.infrastructure.proxmox.placement.disks import DiskPlan
from nagaya.infrastructure.proxmox.placement.inventory import (
    Guest,
    Host,
    Inventory,
    Storage,
    Template,
    TemplateDisk,
)
from nagaya.infrastructure.proxmox.placement.reservation import Clone, Reservation, Space, Turn, turn
from nagaya.infrastructure.proxmox.placement.wish import (
    Disk,
    Rules,
    Spread,
    TagMatch,
    TemplateById,
    TemplateByTags,
    Wish,
)

__all__ = [
    "Clone",
    "Decision",
    "Disk",
    "DiskPlan",
    "Guest",
    "Host",
    "Inventory",
    "Placed",
    "Refused",
    "Reservation",
    "Rules",
    "Space",
    "Spread",
    "Storage",
    "TagMatch",
    "Template",
    "TemplateById",
    "TemplateByTags",
    "TemplateDisk",
    "Turn",
    "WhyNot",
    "Wish",
    "place",
    "turn",
]
