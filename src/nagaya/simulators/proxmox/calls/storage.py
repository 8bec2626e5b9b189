"""Entries of storage.cfg."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.storages.definitions import (
    ALWAYS_THERE,
    by_itself,
    change,
    created,
    digest_of,
    shown,
)
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/storage"
_ONE = "/storage/{storage}"
_READERS = ("Datastore.Audit", "Datastore.AllocateSpace")
_FILE = "file-storage_cfg"
_NO_OPTIONS = frozenset({"storage", "type", "digest", "delete"})


@handlers("GET", _ALL)
async def storages(call: Call) -> Json:
    """Those that the caller may see."""
    known = call.emulator.datacenter.storages
    digest = digest_of(known.values())
    return [
        shown(storage, digest)
        for storage in known.values()
        if call.get("type") in (None, storage.type) and call.rights.may(f"/storage/{storage.name}", _READERS, any=True)
    ]


@handlers("GET", _ONE)
async def storage(call: Call) -> Json:
    """One of them."""
    return shown(_known(call), digest_of(call.emulator.datacenter.storages.values()))


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    name, kind = call["storage"], call["type"]
    new = created(name, kind, _options(call))
    async with changing(call, _FILE, "create storage failed"):
        if name in call.emulator.datacenter.storages:
            raise Failure(f"storage ID '{name}' already defined\n")
        call.emulator.datacenter.storages[name] = new
    return {"storage": name, "type": kind}


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change some of its options."""
    async with changing(call, _FILE, "update storage failed"):
        check_digest(call, digest_of(call.emulator.datacenter.storages.values()))
        changed = _known(call)
        change(changed, _options(call), split_list(call.get("delete") or ""))
    return {"storage": changed.name, "type": changed.type}


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget it. What lies on it stays there. One of them comes back by itself."""
    async with changing(call, _FILE, "delete storage failed"):
        name = _known(call).name
        known = call.emulator.datacenter.storages
        if any(str(other.options.get("base", "")).startswith(f"{name}:") for other in known.values()):
            raise Failure("can't remove storage - storage is used as base of another storage\n")
        gone = known.pop(name)
        if name == ALWAYS_THERE:
            known[name] = by_itself(gone)
    call.emulator.datacenter.access.forget_path(f"/storage/{name}")
    for pool in call.emulator.datacenter.pools.values():
        pool.storages.discard(name)
    return None


def _known(call: Call) -> Storage:
    found = call.emulator.datacenter.storages.get(call["storage"])
    if found is None:
        raise Failure(f"storage '{call['storage']}' does not exist\n")
    return found


def _options(call: Call) -> dict[str, Any]:
    return {
        name: value
        for name, value in call.parameters.items()
        if name not in _NO_OPTIONS and not (name == "nodes" and not value)
    }
