"""Options of the whole data center."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.shared_file import changing
from nagaya.simulators.proxmox.cluster.options import allowed_tags, check, rewritten, shown
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_PATH = "/cluster/options"
_FOR_ALL = ("console", "tag-style", "consent-text")


@handlers("GET", _PATH)
async def options(call: Call) -> Json:
    """All of them; who may not audit sees those that everybody needs."""
    given = call.emulator.datacenter.options
    entries = shown(given)
    if not call.rights.may("/", ["Sys.Audit"]):
        entries = {name: entries[name] for name in _FOR_ALL if name in entries}
    privileged = call.rights.may("/", ["Sys.Modify"])
    entries["allowed-tags"] = allowed_tags(given, privileged=privileged, used=_used(call))
    return entries


@handlers("PUT", _PATH)
async def update(call: Call) -> Json:
    """Change some of them."""
    async with changing(call, "file-datacenter_cfg"):
        datacenter = call.emulator.datacenter
        changed = rewritten(datacenter.options)
        changed |= {name: value for name, value in call.parameters.items() if name != "delete"}
        for name in split_list(call.get("delete") or ""):
            changed.pop(name, None)
        check(changed)
        datacenter.options = changed
    return None


def _used(call: Call) -> set[str]:
    """Tags of machines that the caller may see."""
    return {
        tag
        for vmid, guest in call.emulator.datacenter.guests.items()
        if call.rights.may(f"/vms/{vmid}", ["VM.Audit"])
        for tag in split_list(str(guest.config.get("tags") or ""))
    }
