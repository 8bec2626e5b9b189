"""Graphs over time. The emulator keeps no history, so they have their times and no values, as on a host just set up."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call

_FRAMES = {"hour": (60, 60), "day": (1800, 48), "week": (10800, 56), "month": (43200, 60), "year": (604800, 52)}
"""Seconds between two points, and how many there are."""


def empty_graph(call: Call) -> list[dict[str, Any]]:
    """The points of the time that a call asks for."""
    step, count = _FRAMES.get(call["timeframe"], _FRAMES["hour"])
    now = int(call.emulator.world.clock.now().timestamp())
    last = now - now % step
    return [{"time": last - step * back} for back in reversed(range(count))]
