"""Jobs that make backups: the emulator makes none, so there are no jobs."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json

handlers = Handlers()


@handlers("GET", "/cluster/backup")
async def jobs(call: Call) -> Json:
    """None."""
    return []


@handlers("GET", "/cluster/replication")
async def replications(call: Call) -> Json:
    """None."""
    return []
