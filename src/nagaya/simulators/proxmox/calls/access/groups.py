"""Groups of users."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.calls.access.user_config import user_config
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.access import Access, Group

handlers = Handlers()
_ALL = "/access/groups"
_ONE = "/access/groups/{groupid}"
_READERS = ("User.Modify", "Sys.Audit", "Group.Allocate")


def _members(access: Access, group: str) -> list[str]:
    return sorted(name for name, user in access.users.items() if group in user.groups)


def _known(access: Access, name: str) -> Group:
    if name not in access.groups:
        raise Failure(f"group '{name}' does not exist\n")
    return access.groups[name]


@handlers("GET", _ALL)
async def groups(call: Call) -> Json:
    """Those that the caller may see."""
    access = call.emulator.datacenter.access
    told = []
    for name, group in access.groups.items():
        if call.rights.may(f"/access/groups/{name}", _READERS, any=True):
            comment = {"comment": group.comment} if group.comment else {}
            told.append({"groupid": name, **comment, "users": ",".join(_members(access, name))})
    return told


@handlers("GET", _ONE)
async def group(call: Call) -> Json:
    """One of them."""
    access = call.emulator.datacenter.access
    found = _known(access, call["groupid"])
    told: dict[str, Any] = {"members": _members(access, call["groupid"])}
    return {**told, "comment": found.comment} if found.comment else told


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    known = call.emulator.datacenter.access.groups
    name = call["groupid"]
    async with user_config(call, "create group failed"):
        if name in known:
            raise Failure(f"group '{name}' already exists\n")
        known[name] = Group(call.get("comment") or "")
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change its comment."""
    async with user_config(call, "update group failed"):
        changed = _known(call.emulator.datacenter.access, call["groupid"])
        if call.get("comment") is not None:
            changed.comment = call["comment"]
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget one, and the rights given to it."""
    access = call.emulator.datacenter.access
    name = call["groupid"]
    async with user_config(call, "delete group failed"):
        _known(access, name)
        del access.groups[name]
        for user in access.users.values():
            user.groups.discard(name)
        access.forget(name, kind="group")
    return None
