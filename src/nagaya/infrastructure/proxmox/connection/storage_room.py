"""How much room a storage has left, on the host where it is fullest. Pure.

Thin storages break machines when they are full to the last byte, so a word is said long before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.client.rows import StorageRow

NEARLY_FULL: Final = 0.85
FULL: Final = 0.95
"""Of all room: from here on a machine that writes may break others."""
NO_ROOM: Final = "Free some: remove VMs or images that nobody needs (`nagaya proxmox image prune`), or extend it."
_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Room:
    """A storage on one host."""

    node: str
    shared: bool
    total: int
    used: int

    @property
    def share(self) -> float:
        """How much of it is used, 0 to 1."""
        return self.used / self.total

    @property
    def is_full(self) -> bool:
        """Whether nothing more should go there."""
        return self.share >= FULL

    @property
    def is_nearly_full(self) -> bool:
        """Whether it soon will be."""
        return self.share >= NEARLY_FULL

    def __str__(self) -> str:
        where = "" if self.shared else f" on {self.node}"
        free = max(0, self.total - self.used)
        return f"{free / _GIB:.0f} of {self.total / _GIB:.0f} GiB free{where} ({self.share:.0%} used)"


def fullest(rows: Iterable[StorageRow]) -> Room | None:
    """Where least is left; None if no host tells."""
    rooms = [Room(row.node, row.shared, row.total, row.used) for row in rows if row.available and row.total]
    return max(rooms, key=lambda each: (each.share, each.node), default=None)
