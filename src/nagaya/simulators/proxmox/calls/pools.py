"""Pools of machines and storages, under one right. Pools can lie in pools: `a/b` lies in `a`.

There are two forms of each call, with the name in the path and with it among the parameters; the older one cannot name
a pool in a pool.
"""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.access.user_config import user_config
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster import reports
from nagaya.simulators.proxmox.cluster.rows import reported_machine, storage_row
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.datacenter import Pool
from nagaya.simulators.proxmox.state.node import Node
from nagaya.simulators.proxmox.state.storage import Storage
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/pools"
_ONE = "/pools/{poolid}"


@handlers("GET", _ALL)
async def pools(call: Call) -> Json:
    """Those that the caller may see. One that is named is shown with its members, to everybody."""
    if call.get("poolid") is not None:
        return [await _shown(call, call["poolid"])]
    return [
        {"poolid": name, **_comment(pool)}
        for name, pool in sorted(call.emulator.datacenter.pools.items())
        if call.rights.may(f"/pool/{name}", ["Pool.Audit"])
    ]


@handlers("GET", _ONE)
async def pool(call: Call) -> Json:
    """One of them, with its members."""
    return await _shown(call, call["poolid"])


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    known = call.emulator.datacenter.pools
    name = call["poolid"]
    async with user_config(call, "create pool failed"):
        if name in known:
            raise Failure(f"pool '{name}' already exists\n")
        parent, nested, _ = name.rpartition("/")
        if nested and parent not in known:
            raise Failure(f"parent '{parent}' of pool '{name}' does not exist\n")
        known[name] = Pool(call.get("comment") or "")
    return None


@handlers("PUT", _ALL)
async def update(call: Call) -> Json:
    """Change its comment, add members or take them out."""
    async with user_config(call, "update pools failed"):
        changed = _known(call, call["poolid"])
        if call.get("comment") is not None:
            changed.comment = call["comment"]
        for vmid in split_list(call.get("vms") or ""):
            call.rights.check_grant(f"/vms/{vmid}")
            if call.get("delete"):
                if int(vmid) not in changed.vms:
                    raise Failure(f"VM {vmid} is not a pool member\n")
                changed.vms.remove(int(vmid))
            else:
                _add_machine(call, changed, int(vmid))
        for storage in split_list(call.get("storage") or ""):
            call.rights.check_grant(f"/storage/{storage}")
            if call.get("delete"):
                if storage not in changed.storages:
                    raise Failure(f"Storage '{storage}' is not a pool member\n")
                changed.storages.remove(storage)
            elif storage in changed.storages:
                raise Failure(f"Storage '{storage}' is already a pool member\n")
            else:
                changed.storages.add(storage)
    return None


@handlers("DELETE", _ALL)
async def remove(call: Call) -> Json:
    """Forget an empty one. Members that do not exist do not count."""
    datacenter = call.emulator.datacenter
    name = call["poolid"]
    async with user_config(call, "delete pool failed"):
        gone = _known(call, name)
        for other in sorted(datacenter.pools):
            if other.startswith(f"{name}/"):
                raise Failure(f"pool '{name}' is not empty (contains pool '{other}')\n")
        # Numbers are compared as texts: of 200 and 1000, PVE names the latter.
        for vmid in sorted(gone.vms & datacenter.guests.keys(), key=str):
            raise Failure(f"pool '{name}' is not empty (contains VM {vmid})\n")
        for storage in sorted(gone.storages & datacenter.storages.keys()):
            raise Failure(f"pool '{name}' is not empty (contains storage '{storage}')\n")
        del datacenter.pools[name]
        datacenter.access.forget_path(f"/pool/{name}")
    return None


handlers("PUT", _ONE)(update)
handlers("DELETE", _ONE)(remove)


def _add_machine(call: Call, pool: Pool, vmid: int) -> None:
    if vmid in pool.vms:
        raise Failure(f"VM {vmid} is already a pool member\n")
    for name, other in call.emulator.datacenter.pools.items():
        if vmid in other.vms:
            if not call.get("allow-move"):
                raise Failure(f"VM {vmid} belongs already to pool '{name}' and 'allow-move' is not set\n")
            call.rights.check(f"/pool/{name}", ["Pool.Allocate"])
            other.vms.remove(vmid)
    pool.vms.add(vmid)


def _known(call: Call, name: str) -> Pool:
    found = call.emulator.datacenter.pools.get(name)
    if found is None:
        raise Failure(f"pool '{name}' does not exist\n")
    return found


def _comment(pool: Pool) -> dict[str, str]:
    return {"comment": pool.comment} if pool.comment else {}


async def _shown(call: Call, name: str) -> dict[str, Any]:
    pool = _known(call, name)
    return {"poolid": name, **_comment(pool), "members": _members(call, pool)}


def _members(call: Call, pool: Pool) -> list[dict[str, Any]]:
    """What reports say of those that exist, be they disabled or not. The right to see the pool suffices to see them."""
    emulator, kind = call.emulator, call.get("type")
    reports.ensure(emulator)
    guests, storages = emulator.datacenter.guests, emulator.datacenter.storages
    machines = [reported_machine(emulator, guests[vmid]) for vmid in sorted(pool.vms & guests.keys(), key=str)]
    places = [
        storage_row(emulator, _host(call, storages[name]), storages[name])
        for name in sorted(pool.storages & storages.keys())
    ]
    return [row for row in machines + places if kind in (None, row["type"])]


def _host(call: Call, storage: Storage) -> Node:
    """The host whose view of a storage is shown: this one if it has it."""
    nodes = call.emulator.datacenter.nodes
    if storage.on(call.node.name):
        return call.node
    name = min(str(storage.options["nodes"]).split(","))
    return nodes.get(name) or Node(name, "", 0, online=False)
