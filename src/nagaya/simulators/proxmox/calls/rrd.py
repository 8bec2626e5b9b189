"""Graphs over time. The emulator keeps no history, so they have their times and no values, as on a host just set up.

Each host keeps those of all hosts and machines, and answers for them itself.
"""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call
from nagaya.simulators.proxmox.failure import Failure

_FRAMES = {
    "hour": (60, 60),
    "day": (60, 1440),
    "week": (1800, 336),
    "month": (1800, 1440),
    "year": (21600, 1440),
    "decade": (604800, 570),
}
"""Seconds between two points, and how many there are."""
_EARLIER_FRAMES = {
    "hour": (60, 60),
    "day": (1800, 70),
    "week": (10800, 70),
    "month": (43200, 70),
    "year": (604800, 70),
    "decade": (604800, 70),
}
"""Before PVE 9."""


def check_seen(call: Call, kind: str, name: str, host: str | None) -> None:
    """Refuse to show a host or a machine of which no host has ever told the others: there is no file for it."""
    node = call.emulator.datacenter.nodes.get(host or "")
    if node is None or (node.seen is None and not node.online):
        folder = f"pve2-{kind}" if call.emulator.version[0] == "8" else f"pve-{kind}-9.0"
        file = f"/var/lib/rrdcached/db/{folder}/{name}"
        raise Failure(f"RRD error: opening '{file}': No such file or directory\n")


def empty_graph(call: Call) -> list[dict[str, Any]]:
    """The points of the time that a call asks for, up to the one before now."""
    frames = _EARLIER_FRAMES if call.emulator.version[0] == "8" else _FRAMES
    step, count = frames[call["timeframe"]]
    now = int(call.emulator.world.clock.now().timestamp())
    first = now - now % step - step * count
    return [{"time": first + step * number} for number in range(count)]
