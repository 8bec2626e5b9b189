"""Mappings of devices: one name for a device of the same kind on each host, which machines can be given."""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/cluster/mapping/pci"
_ONE = "/cluster/mapping/pci/{id}"
_LOCK = "file-mapping_pci_cfg"
_READERS = ("Mapping.Modify", "Mapping.Use", "Mapping.Audit")


@handlers("GET", _ALL)
async def mappings(call: Call) -> Json:
    """Those that the caller may see."""
    known = call.emulator.datacenter.mappings
    return [
        {"id": name, "type": "pci", **facts, "digest": _digest(known)}
        for name, facts in sorted(known.items())
        if call.rights.may(f"/mapping/pci/{name}", _READERS, any=True)
    ]


@handlers("GET", _ONE)
async def mapping(call: Call) -> Json:
    """One of them."""
    known = call.emulator.datacenter.mappings
    return {**_known(call), "digest": _digest(known)}


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    known = call.emulator.datacenter.mappings
    async with changing(call, _LOCK, "create hardware mapping failed"):
        if call["id"] in known:
            raise Failure(f"pci ID '{call['id']}' already defined\n")
        known[call["id"]] = _given(call)
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change it."""
    async with changing(call, _LOCK, "update hardware mapping failed"):
        check_digest(call, _digest(call.emulator.datacenter.mappings))
        changed = _known(call)
        for name in split_list(call.get("delete") or ""):
            changed.pop(name, None)
        changed |= _given(call)
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget it."""
    async with changing(call, _LOCK, "delete pci mapping failed"):
        call.emulator.datacenter.mappings.pop(call["id"], None)
    return None


def _known(call: Call) -> dict[str, Any]:
    found: dict[str, Any] | None = call.emulator.datacenter.mappings.get(call["id"])
    if found is None:
        raise Failure(f"mapping '{call['id']}' not found\n")
    return found


def _given(call: Call) -> dict[str, Any]:
    given = {name: value for name, value in call.parameters.items() if name not in ("id", "digest", "delete")}
    return {name: int(value) if isinstance(value, bool) else value for name, value in given.items()}


def _digest(known: dict[str, Any]) -> str:
    return hashlib.sha1(repr(sorted(known.items())).encode(), usedforsecurity=False).hexdigest()
