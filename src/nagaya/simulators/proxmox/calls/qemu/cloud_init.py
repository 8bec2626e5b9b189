"""The drive with boot data: what it lacks, what would go into it, and making it anew."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers
from nagaya.simulators.proxmox.calls.qemu.shared import host_of
from nagaya.simulators.proxmox.qemu.actions.boot_drive import generate, resolver
from nagaya.simulators.proxmox.qemu.cloud_init import MASK, dump
from nagaya.simulators.proxmox.qemu.rights import CLOUDINIT_OPTIONS
from nagaya.simulators.proxmox.tasks.runner import Silence
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()


@handlers("GET", "/nodes/{node}/qemu/{vmid}/cloudinit")
async def pending(call: Call) -> list[dict[str, Any]]:
    """The options that go into the drive, with what it still says."""
    configuration = host_of(call).load(call["vmid"])
    section, recorded = dict(configuration.options), dict(configuration.cloudinit)
    for known in (section, recorded):
        if "cipassword" in known:
            known["cipassword"] = MASK
    added = split_list(recorded.pop("added", ""))
    rows: list[dict[str, Any]] = [{"key": name, "pending": section.get(name)} for name in added]
    for name in CLOUDINIT_OPTIONS:
        if not section.get(name) or name in added:
            continue
        if recorded.get(name):
            rows.append({"key": name, "value": recorded[name], "pending": section[name]})
        else:
            rows.append({"key": name, "value": section[name]})
    rows += [{"key": name, "delete": 1} for name in recorded if not section.get(name)]
    return rows


@handlers("PUT", "/nodes/{node}/qemu/{vmid}/cloudinit")
async def make_anew(call: Call) -> None:
    """Fill the drive with what the options say now."""
    host, vmid = host_of(call), call["vmid"]
    async with host.lock(vmid, Silence()):
        configuration = host.load(vmid)
        configuration.check_lock()
        if configuration.cloudinit_drive() is not None and await generate(host, configuration, Silence()):
            host.write(configuration, Silence())


@handlers("GET", "/nodes/{node}/qemu/{vmid}/cloudinit/dump")
async def shown(call: Call) -> str:
    """One part of what would go into the drive; without the right for it, the password is hidden."""
    host = host_of(call)
    configuration = host.load(call["vmid"])
    hidden = not call.rights.may(f"/vms/{call['vmid']}", ["VM.Config.Cloudinit"])
    return dump(configuration.options, call["vmid"], call["type"], resolver(host), mask=hidden)
