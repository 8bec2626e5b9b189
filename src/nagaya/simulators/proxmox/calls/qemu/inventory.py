"""Which machines there are on a host, and how they are."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of
from nagaya.simulators.proxmox.calls.rrd import check_seen, empty_graph
from nagaya.simulators.proxmox.qemu import options
from nagaya.simulators.proxmox.qemu.actions.stopping import agent_enabled
from nagaya.simulators.proxmox.qemu.status import status_of

handlers = Handlers()


@handlers("GET", "/nodes/{node}/qemu")
async def machines(call: Call) -> list[dict[str, Any]]:
    """The machines of a host that the caller may see."""
    return [
        status_of(call.emulator, guest, full=bool(call.get("full")))
        for guest in call.emulator.datacenter.guests.values()
        if guest.node == call.node.name and call.rights.may(f"/vms/{guest.vmid}", ["VM.Audit"])
    ]


@handlers("GET", "/nodes/{node}/qemu/{vmid}/rrddata")
async def graph(call: Call) -> list[dict[str, Any]]:
    """How a machine was over time. Nobody keeps that here, but a file for it there is once a machine has been seen."""
    guest = call.emulator.datacenter.guests.get(call["vmid"])
    check_seen(call, "vm", str(call["vmid"]), None if guest is None else guest.node)
    return empty_graph(call)


@handlers("GET", "/nodes/{node}/qemu/{vmid}/status")
async def status_index(call: Call) -> list[dict[str, str]]:
    """What can be done to a machine that exists."""
    host_of(call).load(call["vmid"])
    names = ("current", "start", "stop", "reset", "shutdown", "suspend", "reboot")
    return [{"subdir": name} for name in names]


@handlers("GET", "/nodes/{node}/qemu/{vmid}/status/current")
async def current(call: Call) -> dict[str, Any]:
    """How a machine is."""
    host = host_of(call)
    configuration = host.load(call["vmid"])
    shown = status_of(call.emulator, host.present(call["vmid"]), full=True)
    shown["ha"] = _high_availability(call)
    if vga := configuration.get("vga"):
        parts = options.parts("vga", str(vga))
        kind = str(parts.get("type", ""))
        if kind.startswith(("virtio", "qxl")):
            shown["spice"] = 1
        shown["clipboard"] = parts.get("clipboard")
    if agent_enabled(configuration.options):
        shown["agent"] = 1
    return shown


def _high_availability(call: Call) -> dict[str, Any]:
    resource = call.emulator.datacenter.ha.resources.get(f"vm:{call['vmid']}")
    if resource is None or not host_of(call).managed(call["vmid"]):
        return {"managed": 0}
    return {
        "managed": 1,
        **{key: resource[key] for key in ("group",) if resource.get(key)},
        "state": resource.get("crm"),
    }
