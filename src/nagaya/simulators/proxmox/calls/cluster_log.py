"""The log of the cluster: which tasks began and ended, and for whom."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.tasks.listing import status_type

handlers = Handlers()
_INFORMATION, _ERROR = 6, 3
MOST = 5000


@handlers("GET", "/cluster/log")
async def log(call: Call) -> Json:
    """The newest entries first. Without Sys.Syslog those of the caller alone."""
    everything = call.rights.may("/", ["Sys.Syslog"])
    entries: list[tuple[int, int, str, str, str, int]] = []
    for task in call.emulator.tasks.known.values():
        upid = task.upid
        if not everything and upid.user != call.caller.id:
            continue
        entries.append((upid.starttime, _INFORMATION, upid.user, upid.node, f"starting task {upid}", upid.pid))
        if task.endtime is not None:
            level = _INFORMATION if status_type(task.exitstatus) in ("ok", "warning") else _ERROR
            said = f"end task {upid} {task.exitstatus}"
            entries.append((task.endtime, level, upid.user, upid.node, said, upid.pid))
    entries.sort(key=lambda entry: entry[0])
    rows: list[dict[str, Any]] = [
        {
            "uid": str(number),
            "id": f"{number}:{node}",
            "time": when,
            "pri": level,
            "user": user,
            "node": node,
            "pid": pid,
            "tag": "pvedaemon",
            "msg": said,
        }
        for number, (when, level, user, node, said, pid) in enumerate(entries, 1)
    ]
    return list(reversed(rows))[: call.get("max") or MOST]
