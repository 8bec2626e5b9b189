"""The log of the cluster."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster.log import MOST

handlers = Handlers()


@handlers("GET", "/cluster/log")
async def log(call: Call) -> Json:
    """The newest entries first. Without Sys.Syslog those of the caller alone."""
    everything = call.rights.may("/", ["Sys.Syslog"])
    entries = call.emulator.log.newest(call.get("max") or MOST, None if everything else call.caller.id)
    return [
        {
            "uid": str(entry.number),
            "id": f"{entry.number}:{entry.node}",
            "time": entry.time,
            "pri": entry.level,
            "user": entry.user,
            "node": entry.node,
            "pid": entry.pid,
            "tag": "pvedaemon",
            "msg": entry.message,
        }
        for entry in entries
    ]
