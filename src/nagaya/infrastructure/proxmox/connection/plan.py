"""What to do for a connection: hold on to it while it is needed, look at its data center, let it go."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.proxmox.conditions import ProxmoxConnectionReason
from nagaya.infrastructure.proxmox.connection.seen import Seen

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    reason: str = ""
    sentence: str = ""
    hold: bool = False
    """Whether it must not vanish while something needs it."""
    release: bool = False


def plan(seen: Seen) -> Plan:
    """A connection goes when nothing needs it any more to clean up."""
    if not seen.connection.metadata.deleting:
        return Plan(hold=True)
    if not seen.needed_by:
        return Plan(ProxmoxConnectionReason.DELETING, "Nothing needs the connection any more.", release=True)
    named = ", ".join(seen.needed_by[:_NAMED])
    more = len(seen.needed_by) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    return Plan(
        ProxmoxConnectionReason.DELETING,
        f"The connection stays until what needs it to clean up is gone: {named}{rest}.",
    )
