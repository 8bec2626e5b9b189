"""The hosts, as any of them lists all, and waking one that sleeps."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster import hosts, reports
from nagaya.simulators.proxmox.cluster.rows import node_row
from nagaya.simulators.proxmox.failure import Failure

handlers = Handlers()
_ADDRESS = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}")


@handlers("GET", "/nodes")
async def nodes(call: Call) -> Json:
    """All of them, for everybody."""
    reports.ensure(call.emulator)
    return [
        {
            **node_row(call.emulator, node, audited=call.rights.may(f"/nodes/{node.name}", ["Sys.Audit"])),
            "ssl_fingerprint": node.fingerprint,
        }
        for node in call.emulator.datacenter.nodes.values()
    ]


@handlers("POST", "/nodes/{node}/wakeonlan")
async def wake(call: Call) -> Json:
    """Send the packet that wakes a host. The host that was asked sends it; nobody answers."""
    name = call["node"]
    if name in ("localhost", call.node.name):
        raise Failure(f"'{name}' is local node, cannot wake my self!\n")
    target = call.emulator.datacenter.nodes.get(name)
    if target is None:
        raise Failure(f"no such cluster node '{name}'\n")
    found = _ADDRESS.search(str(target.options.get("wakeonlan") or ""))
    if found is None:
        raise Failure(f"No wake on LAN MAC address defined for '{name}'!\n")
    hosts.wake(call.emulator, name)
    return found[0]


@handlers("GET", "/nodes/{node}/lxc")
async def containers(call: Call) -> Json:
    """There are none."""
    return []
