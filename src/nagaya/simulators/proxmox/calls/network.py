"""Network devices of a host. Lists leave out the bridges that a caller may neither use nor audit."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.resources import LOCAL_ZONE
from nagaya.simulators.proxmox.failure import ParameterFailure
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_PRIVILEGES = ("SDN.Audit", "SDN.Use")
_BRIDGES = frozenset({"any_bridge", "any_local_bridge", "bridge"})


@handlers("GET", "/nodes/{node}/network")
async def devices(call: Call) -> Json:
    """All, or those of one kind."""
    kind, node = call.get("type"), call.node
    rows = []
    for number, name in enumerate(node.bridges):
        if kind is not None and kind not in _BRIDGES and kind != "include_sdn":
            continue
        if call.rights.may_bridge(LOCAL_ZONE, name, _PRIVILEGES):
            rows.append({"iface": name, **_bridge(node, number)})
    if kind in ("any_bridge", "vnet", "include_sdn"):
        rows += _virtual(call)
    return rows


@handlers("GET", "/nodes/{node}/network/{iface}")
async def device(call: Call) -> Json:
    """One of them."""
    if call["iface"] not in call.node.bridges:
        raise ParameterFailure({"iface": "interface does not exist"})
    shown = _bridge(call.node, call.node.bridges.index(call["iface"]))
    return {name: value for name, value in shown.items() if name not in ("active", "priority")} | {"active": 1}


def _bridge(node: Node, number: int) -> dict[str, Any]:
    """The first has the address of the host."""
    shown: dict[str, Any] = {
        "type": "bridge",
        "active": 1,
        "autostart": 1,
        "bridge_fd": "0",
        "bridge_ports": "",
        "bridge_stp": "off",
        "families": ["inet"],
        "method": "manual",
        "method6": "manual",
        "priority": 3 + number,
    }
    if number == 0:
        shown |= {"method": "static", "address": node.address, "netmask": "32", "cidr": f"{node.address}/32"}
    return shown


def _virtual(call: Call) -> list[dict[str, Any]]:
    rows = []
    for name, facts in call.emulator.datacenter.vnets.items():
        zone = str(facts.get("zone", ""))
        if not call.rights.may_bridge(zone, name, _PRIVILEGES):
            continue
        where = call.emulator.datacenter.zones.get(zone, {})
        if where.get("nodes") and call.node.name not in split_list(str(where["nodes"])):
            continue
        rows.append(
            {
                "iface": name,
                "type": "vnet",
                "active": "1",
                "ipam": int(bool(where.get("ipam"))),
                "vlanaware": int(bool(facts.get("vlanaware"))),
                "comments": facts.get("alias"),
            }
        )
    return rows
