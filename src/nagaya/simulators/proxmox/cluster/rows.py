"""Rows of the list of all resources: what is known at once, and what the last reports say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nagaya.simulators.proxmox.cluster import reports
from nagaya.simulators.proxmox.cluster.placement import number_of
from nagaya.simulators.proxmox.state.guest import Guest
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.storages.definitions import shown_content

if TYPE_CHECKING:
    from nagaya.simulators.proxmox.emulator import Emulator

Row = dict[str, Any]
_CURRENT = ("uptime", "cpu", "mem", "disk")
_LASTING = ("maxcpu", "maxmem", "maxdisk")


def reported_machine(emulator: Emulator, guest: Guest) -> Row:
    """What reports say of a machine. One of which nobody has spoken yet, or for long, has no name."""
    row: Row = {
        "id": f"qemu/{guest.vmid}",
        "vmid": guest.vmid,
        "node": guest.node,
        "type": "qemu",
        "status": "unknown",
    }
    row |= reports.machine(emulator, guest.vmid) or {}
    if emulator.version[0] == "8":
        row.pop("memhost", None)
    return row


def machine_row(emulator: Emulator, guest: Guest) -> Row:
    """A machine, with what its file says of it at this moment."""
    row = reported_machine(emulator, guest)
    for option in ("lock", "tags"):
        if guest.config.get(option) is not None:
            row[option] = guest.config[option]
    return row


def high_availability_state(emulator: Emulator, vmid: int) -> Row:
    """What the HA manager says of a machine, or else what was asked of it."""
    resource = emulator.datacenter.ha.resources.get(f"vm:{vmid}")
    if resource is None:
        return {}
    return {"hastate": resource.get("crm") or resource.get("state")}


def host_states(emulator: Emulator) -> dict[str, str]:
    """What the HA manager says of the hosts: nothing, until it has a machine to look after."""
    datacenter = emulator.datacenter
    if not any(facts.get("crm") for facts in datacenter.ha.resources.values()):
        return {}
    states = {node.name: "online" if node.online else "unknown" for node in datacenter.nodes.values()}
    states |= {node.name: "maintenance" for node in datacenter.nodes.values() if node.online and node.maintenance}
    for sid, facts in datacenter.ha.resources.items():
        guest = datacenter.guests.get(number_of(sid))
        if guest is not None and facts.get("crm") == "fence":
            states[guest.node] = "fence"
    return states


def node_row(emulator: Emulator, node: Node, *, audited: bool) -> Row:
    """A host. Who may not audit it learns only whether it is on."""
    row: Row = {"id": f"node/{node.name}", "node": node.name, "type": "node", "status": "unknown"}
    report = reports.of_host(emulator, node)
    if report is not None:
        if node.online:
            row["status"] = "online"
            if audited:
                row |= {name: report[name] for name in _CURRENT}
        row["level"] = report["level"]
        if audited:
            row |= {name: report[name] for name in _LASTING}
    if not node.online:
        row["status"] = "offline"
    return row


def storage_row(emulator: Emulator, node: Node, storage: Storage) -> Row:
    """A storage as a host has it."""
    row: Row = {
        "id": f"storage/{node.name}/{storage.name}",
        "storage": storage.name,
        "node": node.name,
        "type": "storage",
        "plugintype": storage.type,
        "status": "unknown",
        "shared": int(storage.shared),
        "content": shown_content(storage),
    }
    report = reports.storage(emulator, node, storage.name)
    return row if report is None else row | report | {"status": "available"}
