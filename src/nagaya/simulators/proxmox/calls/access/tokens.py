"""API tokens: credentials of a user for programs, with all of the user's rights or with rights of their own."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.proxmox.access.authentication import known_user
from nagaya.simulators.proxmox.calls.access.user_config import user_config
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.state.access import Access, Token
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/access/users/{userid}/token"
_ONE = "/access/users/{userid}/token/{tokenid}"


def shown(token: Token) -> dict[str, Any]:
    """What may be told of a token."""
    told: dict[str, Any] = {"privsep": int(token.privilege_separation), "expire": token.expire}
    return {**told, "comment": token.comment} if token.comment else told


def known_token(access: Access, user: str, token: str) -> Token:
    """A token that exists."""
    found = known_user(user, access).tokens.get(token)
    if found is None:
        raise Failure(f"no such token '{token}' for user '{user}'\n")
    return found


@handlers("GET", _ALL)
async def tokens(call: Call) -> Json:
    """Those of a user."""
    user = known_user(call["userid"], call.emulator.datacenter.access)
    return [{"tokenid": name, **shown(token)} for name, token in user.tokens.items()]


@handlers("GET", _ONE)
async def token(call: Call) -> Json:
    """One of them."""
    return shown(known_token(call.emulator.datacenter.access, call["userid"], call["tokenid"]))


@handlers("POST", _ONE)
async def generate(call: Call) -> Json:
    """A new one. Its secret is told this once. What was given is told as it came: as text."""
    access = call.emulator.datacenter.access
    user, name = call["userid"], call["tokenid"]
    if name in known_user(user, access).tokens:
        raise ParameterFailure({"tokenid": "Token already exists."})
    async with user_config(call, "generating token failed"):
        if name in known_user(user, access).tokens:
            raise Failure("Token already exists.\n")
        made = Token(
            call.emulator.world.uid(),
            privilege_separation=bool(call.get("privsep", True)),
            expire=call.get("expire") or 0,
            comment=call.get("comment") or "",
        )
        access.users[user].tokens[name] = made
    privsep = call.get("privsep")
    info: dict[str, Any] = {"privsep": 1 if privsep is None else str(int(privsep))}
    if call.get("expire") is not None:
        info["expire"] = str(made.expire)
    if made.comment:
        info["comment"] = made.comment
    return {"info": info, "value": made.secret, "full-tokenid": f"{user}!{name}"}


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change one, or give it a new secret."""
    access = call.emulator.datacenter.access
    user, name = call["userid"], call["tokenid"]
    known_token(access, user, name)
    async with user_config(call, "updating token info failed"):
        changed = known_token(access, user, name)
        if call.get("privsep") is not None:
            changed.privilege_separation = bool(call["privsep"])
        if call.get("expire") is not None:
            changed.expire = call["expire"]
        if call.get("comment"):
            changed.comment = call["comment"]
        for option in split_list(call.get("delete") or ""):
            if option == "comment":
                changed.comment = ""
        if call.get("regenerate"):
            changed.secret = call.emulator.world.uid()
    told = shown(changed)
    for option, text in (("privsep", int(changed.privilege_separation)), ("expire", changed.expire)):
        if call.get(option) is not None:
            told[option] = str(text)
    if call.get("regenerate"):
        told |= {"full-tokenid": f"{user}!{name}", "value": changed.secret}
    return told


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget one, and the rights given to it."""
    access = call.emulator.datacenter.access
    user, name = call["userid"], call["tokenid"]
    known_token(access, user, name)
    async with user_config(call, "deleting token failed"):
        known_token(access, user, name)
        del access.users[user].tokens[name]
        access.forget(f"{user}!{name}")
    return None
