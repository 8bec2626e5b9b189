"""Roles: privileges under a name."""

from __future__ import annotations

from nagaya.simulators.proxmox.access.roles import built_in, privileges
from nagaya.simulators.proxmox.calls.access.user_config import user_config
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/access/roles"
_ONE = "/access/roles/{roleid}"


@handlers("GET", _ALL)
async def roles(call: Call) -> Json:
    """All of them, with what they hold."""
    datacenter = call.emulator.datacenter
    brought = built_in(datacenter.version)
    return [
        {"roleid": name, "privs": ",".join(sorted(held)), "special": int(name in brought)}
        for name, held in {**brought, **datacenter.access.roles}.items()
    ]


@handlers("GET", _ONE)
async def role(call: Call) -> Json:
    """What one holds."""
    datacenter = call.emulator.datacenter
    held = {**datacenter.access.roles, **built_in(datacenter.version)}.get(call["roleid"])
    if held is None:
        raise Failure(f"role '{call['roleid']}' does not exist\n")
    return dict.fromkeys(sorted(held), 1)


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    datacenter = call.emulator.datacenter
    name = call["roleid"]
    if name.upper().startswith("PVE"):
        reserved = "cannot use role ID starting with the (case-insensitive) 'PVE' namespace"
        raise ParameterFailure({"roleid": reserved})
    async with user_config(call, "create role failed"):
        if name in datacenter.access.roles or name in built_in(datacenter.version):
            raise Failure(f"role '{name}' already exists\n")
        datacenter.access.roles[name] = _privileges(call)
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change what one holds."""
    datacenter = call.emulator.datacenter
    name = call["roleid"]
    if name in built_in(datacenter.version):
        raise Failure(f"auto-generated role '{name}' cannot be modified\n")
    async with user_config(call, "update role failed"):
        if name not in datacenter.access.roles:
            raise Failure(f"role '{name}' does not exist\n")
        before = datacenter.access.roles[name] if call.get("append") else frozenset()
        datacenter.access.roles[name] = before | _privileges(call)
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget one. Entries that gave it are gone with it."""
    datacenter = call.emulator.datacenter
    name = call["roleid"]
    if name in built_in(datacenter.version):
        raise Failure(f"auto-generated role '{name}' cannot be deleted\n")
    async with user_config(call, "delete role failed"):
        if name not in datacenter.access.roles:
            raise Failure(f"role '{name}' does not exist\n")
        del datacenter.access.roles[name]
        datacenter.access.forget_role(name)
    return None


def _privileges(call: Call) -> frozenset[str]:
    named = split_list(call.get("privs") or "")
    known = privileges(call.emulator.datacenter.version)
    for privilege in named:
        if privilege not in known:
            raise Failure(f"invalid privilege '{privilege}'\n")
    return frozenset(named)
