"""The cluster itself: its members, the next free number for a machine, and how it was set up."""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster import reports
from nagaya.simulators.proxmox.cluster.options import FIRST, LAST, bounds
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure

handlers = Handlers()
_CONFIGURATION_VERSION = 2
_VOTES = 1


@handlers("GET", "/cluster/status")
async def status(call: Call) -> Json:
    """Who belongs to it and who is on. A host that was never heard of has no address yet."""
    reports.ensure(call.emulator)
    datacenter = call.emulator.datacenter
    rows: list[dict[str, Any]] = []
    if datacenter.name is not None:
        rows.append(
            {
                "type": "cluster",
                "id": "cluster",
                "nodes": len(datacenter.nodes),
                "version": _CONFIGURATION_VERSION,
                "name": datacenter.name,
                "quorate": int(datacenter.quorate),
            }
        )
    for node in datacenter.nodes.values():
        row = {
            "type": "node",
            "id": f"node/{node.name}",
            "name": node.name,
            "nodeid": node.nodeid if datacenter.name is not None else 0,
            "local": int(node is call.node),
            "online": int(node.online),
            "level": "",
        }
        if node.seen is not None or node.online:
            row["ip"] = node.address
        rows.append(row)
    return rows


@handlers("GET", "/cluster/nextid")
async def next_id(call: Call) -> Json:
    """A number that no machine has, here or on a host that is off. It is not reserved."""
    datacenter = call.emulator.datacenter
    if (asked := call.get("vmid")) is not None:
        if int(asked) in datacenter.guests:
            raise ParameterFailure({"vmid": f"VM {asked} already exists"})
        return str(asked)
    lower, upper = bounds(datacenter.options)
    first, last = int(lower or FIRST), int(upper or LAST)
    for number in range(first, last):
        if number not in datacenter.guests:
            return str(number)
    raise Failure(f"unable to get any free VMID in range [{first}, {last}]\n")


@handlers("GET", "/cluster/config/totem")
async def totem(call: Call) -> Json:
    """How its members talk to each other."""
    return _totem(call)


@handlers("GET", "/cluster/config/nodes")
async def members(call: Call) -> Json:
    """Its members as they were set up."""
    return [{"node": row["name"], **row} for row in _members(call)]


@handlers("GET", "/cluster/config/apiversion")
async def version(call: Call) -> Json:
    """Of the calls by which hosts join."""
    return 1


@handlers("GET", "/cluster/config/qdevice")
async def quorum_device(call: Call) -> Json:
    """There is none."""
    return {}


@handlers("GET", "/cluster/config/join")
async def join(call: Call) -> Json:
    """What a host needs to become a member."""
    datacenter = call.emulator.datacenter
    if datacenter.name is None:
        raise Failure("node is not in a cluster, no join info available!", status=424)
    asked = call.get("node") or call.node.name
    if asked not in datacenter.nodes:
        raise Failure(f"unknown node '{asked}'\n")
    rows = [
        {**row, "pve_addr": node.address, "pve_fp": node.fingerprint or ""}
        for row, node in zip(_members(call), datacenter.nodes.values(), strict=True)
    ]
    return {
        "nodelist": rows,
        "preferred_node": asked,
        "totem": _totem(call),
        "config_digest": hashlib.sha1(repr(rows).encode(), usedforsecurity=False).hexdigest(),
    }


def _members(call: Call) -> list[dict[str, str]]:
    """The one whose vote alone is a majority, if there is one, is the one that was asked."""
    datacenter = call.emulator.datacenter
    if datacenter.name is None:
        return []
    heavy = datacenter.expected_votes is not None
    return [
        {
            "name": node.name,
            "nodeid": str(node.nodeid),
            "quorum_votes": str(_VOTES + (heavy and node.online)),
            "ring0_addr": f"127.0.0.{node.nodeid}" if heavy else node.address,
        }
        for node in datacenter.nodes.values()
    ]


def _totem(call: Call) -> dict[str, Any]:
    if call.emulator.datacenter.name is None:
        return {}
    return {
        "cluster_name": call.emulator.datacenter.name,
        "config_version": str(_CONFIGURATION_VERSION),
        "interface": {"0": {"linknumber": "0"}},
        "ip_version": "ipv4-6",
        "link_mode": "passive",
        "secauth": "on",
        "version": "2",
    }
