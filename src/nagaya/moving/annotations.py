"""What a move writes down in objects, so that it can go on where it ended. Gone when it has."""

from __future__ import annotations

from typing import Final

MOVED_FROM: Final = "move.nagaya.dev/from"
"""On objects at the target, until the move has ended: the uid that the object had at the source."""
MOVING: Final = "move.nagaya.dev/to"
"""On Clusters, ClusterClasses and DataStores, until the move has ended: which API they are moved to."""
