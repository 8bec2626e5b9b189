"""What a move writes down in objects, so that it can go on where it ended. Gone when it has."""

from __future__ import annotations

from typing import Final

MOVED_FROM: Final = "move.nagaya.dev/from"
"""On objects at the target, until the move has ended: the uid that the object had at the source."""
MOVING: Final = "move.nagaya.dev/to"
"""On Clusters, ClusterClasses, ClusterResourceSets, DataStores, address pools and reservations of VMs whose machine is
gone, until the move has ended: which API they are moved to."""
STAYS_PAUSED: Final = "move.nagaya.dev/stays-paused"
"""On Clusters, until the move has ended: somebody had paused it before, so it is not let go on at the target."""
