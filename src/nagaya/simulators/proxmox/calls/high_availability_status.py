"""What the HA manager is doing."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster.placement import number_of
from nagaya.simulators.proxmox.cluster.rows import host_states

handlers = Handlers()
_ATTRIBUTES = ("group", "max_restart", "max_relocate", "comment", "failback", "auto-rebalance")
_DEFAULTS = {"max_restart": 1, "max_relocate": 1}
_HOLDING = ("active", "maintenance mode")
"""What the manager of a host is doing when it holds its watchdog."""
_LATER_DEFAULTS = {"failback": 1, "auto-rebalance": 1}


@handlers("GET", "/cluster/ha/status/current")
async def current(call: Call) -> Json:
    """Quorum, who is master, whether lost hosts would be reset, the hosts' own managers, and each machine."""
    datacenter, here = call.emulator.datacenter, call.node.name
    quorate = datacenter.quorate
    said = "OK" if quorate else f"No quorum on node '{here}'!"
    rows: list[dict[str, Any]] = [
        {"id": "quorum", "type": "quorum", "node": here, "status": said, "quorate": int(quorate)}
    ]
    managed = any(facts.get("crm") for facts in datacenter.ha.resources.values())
    master = next((node.name for node in datacenter.nodes.values() if node.online), here) if managed else None
    if master is not None:
        rows.append({"id": "master", "type": "master", "node": master, **_said(call, master, "active")})
    if not _before_watchdogs(call):
        rows.append(_fencing(master, here))
    if master is not None:
        for node in sorted(datacenter.nodes.values(), key=lambda node: node.name):
            how = _local_manager(call, node.name) if node.online else "old timestamp - dead?"
            if not _before_watchdogs(call):
                how += f", watchdog {'active' if how in _HOLDING else 'standby'}"
            said_there = _said(call, node.name, how)
            rows.append({"id": f"lrm:{node.name}", "type": "lrm", "node": node.name, **said_there})
    return rows + [_service(call, sid, facts) for sid, facts in sorted(datacenter.ha.resources.items())]


@handlers("GET", "/cluster/ha/status/manager_status")
async def manager_status(call: Call) -> Json:
    """The same as the manager itself keeps it. PVE hands out what Perl makes of a comparison, a text, for quorum."""
    datacenter = call.emulator.datacenter
    services = {
        sid: {"node": guest.node, "state": facts["crm"], "running": int(guest.running)}
        for sid, facts in datacenter.ha.resources.items()
        if facts.get("crm") and (guest := datacenter.guests.get(number_of(sid))) is not None
    }
    hosts = host_states(call.emulator)
    status = {"service_status": services, "node_status": hosts} if hosts else {}
    quorate = "1" if datacenter.quorate else ""
    return {"manager_status": status, "quorum": {"node": call.node.name, "quorate": quorate}}


def _said(call: Call, node: str, how: str) -> dict[str, Any]:
    """What a manager last wrote down of itself."""
    now = call.emulator.world.clock.now()
    return {"status": f"{node} ({how}, {now:%a %b %e %T %Y})", "timestamp": int(now.timestamp())}


def _before_watchdogs(call: Call) -> bool:
    """Whether PVE is too old to tell of watchdogs."""
    return call.emulator.version[0] == "8"


def _fencing(master: str | None, here: str) -> dict[str, Any]:
    """Whether a host that is lost would be reset: the manager holds its watchdog only while it is at work."""
    armed, watchdog = ("standby", "standby") if master is None else ("armed", "active")
    status = f"{armed} (CRM watchdog {watchdog})"
    return {"id": "fencing", "type": "fencing", "node": master or here, "status": status, "armed-state": armed}


def _local_manager(call: Call, node: str) -> str:
    datacenter = call.emulator.datacenter
    if datacenter.nodes[node].maintenance:
        return "maintenance mode"
    busy = any(
        facts.get("crm") not in (None, "stopped", "freeze")
        and (guest := datacenter.guests.get(number_of(sid))) is not None
        and guest.node == node
        for sid, facts in datacenter.ha.resources.items()
    )
    return "active" if busy else "idle"


def _service(call: Call, sid: str, facts: dict[str, Any]) -> dict[str, Any]:
    guest = call.emulator.datacenter.guests.get(number_of(sid))
    node = guest.node if guest is not None else None
    wanted = facts.get("state", "started")
    wanted = "started" if wanted == "enabled" else wanted
    state = _state(facts.get("crm"), wanted, found=guest is not None, running=guest is not None and guest.running)
    row: dict[str, Any] = {"id": f"service:{sid}", "type": "service", "sid": sid, "node": node}
    if facts.get("crm"):
        row["crm_state"] = facts["crm"]
    row |= {"state": state, "status": f"{sid} ({node}, {state})", "request_state": wanted}
    defaults = _DEFAULTS if _before_watchdogs(call) else _DEFAULTS | _LATER_DEFAULTS
    return row | defaults | {name: facts[name] for name in _ATTRIBUTES if name in facts}


def _state(current: str | None, wanted: str, *, found: bool, running: bool) -> str:
    """In words for users: what will be, where it is already on its way."""
    if wanted == "ignored":
        return "ignored"
    if not found:
        return "not found"
    if current is None:
        return "queued"
    if current == "stopped":
        return {"started": "starting", "disabled": "disabled"}.get(wanted, current)
    if current == "started":
        if not running:
            return "starting"
        return "stopping" if wanted in ("stopped", "disabled") else current
    if current == "error" and wanted == "disabled":
        return "clearing error flag"
    return current
