"""Users. root@pam always is one: deleted, it is there again, only without what was written down of it."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.access.authentication import known_user
from nagaya.simulators.proxmox.access.names import realm_of
from nagaya.simulators.proxmox.access.rights import ROOT
from nagaya.simulators.proxmox.calls.access.passwords import set_password
from nagaya.simulators.proxmox.calls.access.tokens import shown as shown_token
from nagaya.simulators.proxmox.calls.access.user_config import user_config
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.access import User
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/access/users"
_ONE = "/access/users/{userid}"
_TEXTS = ("firstname", "lastname", "email", "comment", "keys")
_AUDITORS = ("User.Modify", "Sys.Audit")


def _shown(user: User) -> dict[str, Any]:
    told: dict[str, Any] = {"enable": int(user.enable)}
    if user.expire is not None:
        told["expire"] = user.expire
    told |= {name: text for name in _TEXTS if (text := getattr(user, name))}
    # In the line of the file an address that is missing is empty when something stands behind it, and is read so.
    return told | {"email": user.email} if user.comment or user.keys else told


@handlers("GET", _ALL)
async def users(call: Call) -> Json:
    """Those whom the caller may see: always itself."""
    access = call.emulator.datacenter.access
    everyone = call.rights.may("/access/groups", _AUDITORS, any=True)
    groups = {group for group in access.groups if call.rights.may(f"/access/groups/{group}", _AUDITORS, any=True)}
    enabled = call.get("enabled")
    told = []
    for name, user in sorted(access.users.items()):
        if not (everyone or name == call.caller.id or user.groups & groups):
            continue
        if enabled is not None and bool(enabled) != user.enable:
            continue
        entry = _shown(user)
        if call.get("full"):
            entry["groups"] = ",".join(sorted(user.groups))
            entry["tokens"] = [
                {"tokenid": id, **shown_token(token)} for id, token in sorted(user.tokens.items())
            ] or None
        realm = access.realms.get(realm_of(name) or "")
        if realm is not None:
            entry["realm-type"] = realm["type"]
        told.append({**entry, "userid": name})
    return told


@handlers("GET", _ONE)
async def user(call: Call) -> Json:
    """One of them."""
    found = known_user(call["userid"], call.emulator.datacenter.access)
    tokens = {id: shown_token(token) for id, token in found.tokens.items()}
    return {**_shown(found), "groups": sorted(found.groups), "tokens": tokens or None}


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    access = call.emulator.datacenter.access
    name = call["userid"]
    async with user_config(call, "create user failed"):
        if name in access.users:
            raise Failure(f"user '{name}' already exists\n")
        made = access.users[name] = User(enable=bool(call.get("enable", True)), expire=call.get("expire") or 0)
        if call.get("password") is not None:
            await set_password(call, name, call["password"])
        made.groups = _groups(call)
        for text in _TEXTS:
            setattr(made, text, call.get(text) or "")
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change one."""
    access = call.emulator.datacenter.access
    async with user_config(call, "update user failed"):
        changed = known_user(call["userid"], access)
        if call.get("enable") is not None:
            changed.enable = bool(call["enable"])
        if call.get("expire") is not None:
            changed.expire = call["expire"]
        if call.get("groups") is not None:
            changed.groups = _groups(call) | (changed.groups if call.get("append") else set())
        for text in _TEXTS:
            if call.get(text) is not None:
                setattr(changed, text, call[text])
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget one, with its tokens and rights."""
    access = call.emulator.datacenter.access
    name = call["userid"]
    async with user_config(call, "delete user failed"):
        gone = access.users.pop(name, None)
        access.forget(name)
        for token in gone.tokens if gone is not None else ():
            access.forget(f"{name}!{token}")
        if name == ROOT and gone is not None:
            access.users[ROOT] = User(expire=None, password=gone.password)
    return None


@handlers("GET", "/access/users/{userid}/tfa")
async def second_factors(call: Call) -> Json:
    """None: the emulator knows no second factors."""
    realm = realm_of(call["userid"]) or ""
    if realm not in call.emulator.datacenter.access.realms:
        raise Failure(f"auth domain '{realm}' does not exist\n")
    return {"user": []} if call.get("multiple") else {}


@handlers("PUT", "/access/users/{userid}/unlock-tfa")
async def unlock(call: Call) -> Json:
    """Nobody is ever locked out."""
    return 0


@handlers("GET", "/access/tfa")
async def all_second_factors(call: Call) -> Json:
    """None."""
    return []


@handlers("GET", "/access/tfa/{userid}/{id}")
async def second_factor(call: Call) -> Json:
    """There is none."""
    raise Failure(f"No such tfa entry '{call['id']}'", status=404)


@handlers("GET", "/access/tfa/{userid}")
async def second_factors_of(call: Call) -> Json:
    """None."""
    return []


def _groups(call: Call) -> set[str]:
    known = call.emulator.datacenter.access.groups
    named = split_list(call.get("groups") or "")
    for group in named:
        if group not in known:
            raise Failure(f"no such group '{group}'\n")
    return set(named)
