"""The list of everything in the cluster. What a caller may not see is left out; nothing is refused."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster import reports
from nagaya.simulators.proxmox.cluster.rows import (
    high_availability_state,
    host_states,
    machine_row,
    node_row,
    storage_row,
)

handlers = Handlers()
LOCAL_ZONE = "localnetwork"
"""The zone of all bridges that belong to no zone."""


@handlers("GET", "/cluster/resources")
async def resources(call: Call) -> Json:
    """All, or those of one kind."""
    reports.ensure(call.emulator)
    kind = call.get("type")
    rows: list[dict[str, Any]] = []
    pools = {
        name: {"id": f"/pool/{name}", "pool": name, "type": "pool"}
        for name in call.emulator.datacenter.pools
        if call.rights.may(f"/pool/{name}", ["Pool.Audit"])
    }
    machines = _machines(call, pools) if kind in (None, "vm") else []
    if kind is None:
        rows += pools.values()
    rows += machines
    if kind in (None, "node"):
        rows += _nodes(call)
    if kind in (None, "storage"):
        rows += _storages(call)
    if kind in (None, "sdn"):
        rows += _networks(call)
    return rows


def _machines(call: Call, pools: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    datacenter = call.emulator.datacenter
    rows = []
    pool_of = {vmid: name for name, pool in datacenter.pools.items() for vmid in pool.vms}
    for vmid, guest in sorted(datacenter.guests.items()):
        row = machine_row(call.emulator, guest)
        pool = pools.get(pool_of.get(vmid, ""))
        if pool is not None:
            row["pool"] = pool["pool"]
            _add_up(pool, row)
        if call.rights.may(f"/vms/{vmid}", ["VM.Audit"]):
            rows.append(row | high_availability_state(call.emulator, vmid))
    return rows


def _add_up(pool: dict[str, Any], row: dict[str, Any]) -> None:
    """A pool shows what its running machines take together."""
    if not row.get("uptime"):
        return
    pool["uptime"] = max(pool.get("uptime", 0), row["uptime"])
    for name in ("mem", "maxmem"):
        pool[name] = pool.get(name, 0) + row[name]
    before, more = pool.get("maxcpu", 0), row["maxcpu"]
    pool["cpu"] = (pool.get("cpu", 0) * before + row["cpu"] * more) / (before + more)
    pool["maxcpu"] = before + more


def _nodes(call: Call) -> list[dict[str, Any]]:
    rows, states = [], host_states(call.emulator)
    for node in call.emulator.datacenter.nodes.values():
        row = node_row(call.emulator, node, audited=call.rights.may(f"/nodes/{node.name}", ["Sys.Audit"]))
        if node.online and reports.of_host(call.emulator, node) is not None:
            row["cgroup-mode"] = node.control_groups
        if node.name in states:
            row["hastate"] = states[node.name]
        rows.append(row)
    return rows


def _storages(call: Call) -> list[dict[str, Any]]:
    datacenter = call.emulator.datacenter
    return [
        storage_row(call.emulator, node, storage)
        for storage in datacenter.storages.values()
        if storage.enabled and call.rights.may(f"/storage/{storage.name}", ["Datastore.Audit"])
        for node in datacenter.nodes.values()
        if storage.on(node.name)
    ]


def _networks(call: Call) -> list[dict[str, Any]]:
    datacenter = call.emulator.datacenter
    rows = []
    for zone, facts in {LOCAL_ZONE: {}, **datacenter.zones}.items():
        if not call.rights.may(f"/sdn/zones/{zone}", ["SDN.Audit"]):
            continue
        nodes = str(facts["nodes"]).split(",") if facts.get("nodes") else list(datacenter.nodes)
        for node in nodes:
            row = {"node": node, "status": "ok", **_named(call, node, zone)}
            if facts.get("type"):
                row["zone-type"] = facts["type"]
            rows.append(row)
    return rows


def _named(call: Call, node: str, zone: str) -> dict[str, Any]:
    """A zone was of a kind of its own up to PVE 8."""
    if call.emulator.version[0] == "8":
        return {"id": f"sdn/{node}/{zone}", "sdn": zone, "type": "sdn"}
    return {"id": f"network/{node}/zone/{zone}", "network": zone, "network-type": "zone", "type": "network"}
