"""Jobs that make backups or copies: the emulator makes none, so there are no jobs, and nothing is backed up."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure

handlers = Handlers()


@handlers("GET", "/cluster/backup")
async def jobs(call: Call) -> Json:
    """None."""
    return []


@handlers("GET", "/cluster/backup/{id}")
async def job(call: Call) -> Json:
    """There is no such job."""
    raise Failure(f"No such job '{call['id']}'\n")


@handlers("GET", "/cluster/backup-info/not-backed-up")
async def forgotten(call: Call) -> Json:
    """All machines that the caller may see: no job takes care of any."""
    return [
        {"vmid": vmid, "name": guest.config.get("name"), "type": "qemu"}
        for vmid, guest in sorted(call.emulator.datacenter.guests.items())
        if call.rights.may(f"/vms/{vmid}", ["VM.Audit"])
    ]


@handlers("GET", "/cluster/replication")
async def replications(call: Call) -> Json:
    """None."""
    return []


@handlers("GET", "/cluster/replication/{id}")
async def replication(call: Call) -> Json:
    """There is no such job."""
    raise Failure(f"no such replication job '{call['id']}'\n")


@handlers("GET", "/nodes/{node}/replication")
async def replications_of_host(call: Call) -> Json:
    """None."""
    return []
