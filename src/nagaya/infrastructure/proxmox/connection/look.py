"""A look at a data center: what can be said of it at this moment, or why nothing can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.client import Snapshot
from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, ProxmoxError, Unauthorized
from nagaya.infrastructure.proxmox.connection.connections import PREFLIGHT, Connected, Connections
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, Reference

USUAL: Final = 60.0
"""Seconds until the next look, while all is well: hosts go on and off, and nothing tells."""
LACKING: Final = 10.0
"""Seconds until privileges that were missing are looked for again, as nothing tells that they were granted, and whoever
grants them looks at what happens."""
FRESH: Final = 5.0
"""Seconds that what is known of privileges may be old at a look for those that were missing: a refusal has them looked
at, too, and leads to a look."""
AWAY: Final = 30.0
"""Seconds until a data center that did not answer is asked again."""
REFUSED: Final = 30.0
"""Seconds until refused credentials are tried again: they may have been disabled for a while. Others, in the Secret,
are tried at once."""
SNAPSHOT: Final = 20.0
"""Seconds that the picture of the data center may be old."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen."""

    connected: Connected | None = None
    snapshot: Snapshot | None = None
    problem: NoConnection | ProxmoxError | None = None
    """Why there is nothing, or not all of it."""

    @property
    def lacking(self) -> bool:
        """Whether privileges are known to be missing."""
        return self.connected is not None and bool(self.connected.missing)

    @property
    def again_after(self) -> float | None:
        """Seconds until the next look; None if only a change of objects can help."""
        if isinstance(self.problem, NoConnection):
            return None
        if isinstance(self.problem, Unauthorized):
            return REFUSED
        if self.problem is not None:
            return AWAY
        return LACKING if self.lacking else USUAL


async def look(connections: Connections, reference: Reference, *, lacking: bool = False) -> Look:
    """Look. `lacking`: privileges were missing the last time, so that an hour is too long."""
    connected = None
    try:
        connected = await connections.get(reference)
        age = FRESH if lacking else PREFLIGHT
        connected = await connections.examined(reference, age, any_datacenter=True)
        return Look(connected, await connected.proxmox.inventory.get(SNAPSHOT))
    except (NoConnection, ProxmoxError) as problem:
        return Look(connected, None, problem)


def is_distrusted(problem: HostUnreachable) -> bool:
    """Whether the hosts were reached, but are not who they should be."""
    return "certificate" in problem.evidence.text
