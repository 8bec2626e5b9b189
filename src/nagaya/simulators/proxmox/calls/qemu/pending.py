"""Changes that wait: for the next start of a machine, or for its drive with boot data to be made anew."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of
from nagaya.simulators.proxmox.qemu.cloud_init import MASK

handlers = Handlers()


@handlers("GET", "/nodes/{node}/qemu/{vmid}/pending")
async def pending(call: Call) -> list[dict[str, Any]]:
    """Each option with what it is, what it will be, and whether it will go."""
    configuration = host_of(call).load(call["vmid"])
    current = {**configuration.options, "digest": configuration.digest}
    waiting = dict(configuration.pending)
    if "cipassword" in current:
        current["cipassword"] = MASK
    if "cipassword" in waiting:
        waiting["cipassword"] = f"{MASK} "
    rows: list[dict[str, Any]] = []
    for name, value in current.items():
        row: dict[str, Any] = {"key": name, "value": value}
        if name in waiting:
            row["pending"] = waiting.pop(name)
        if name in configuration.deletions:
            row["delete"] = 2 if configuration.deletions[name] else 1
        rows.append(row)
    rows += [{"key": name, "pending": value} for name, value in waiting.items()]
    # PVE takes the bare existence of a mark for force, once the option itself is gone.
    rows += [{"key": name, "delete": 2} for name in configuration.deletions if name not in current]
    return rows
