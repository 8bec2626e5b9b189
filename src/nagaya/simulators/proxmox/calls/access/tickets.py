"""Logging in. Whatever is wrong, PVE says the same, so that nobody learns who there is."""

from __future__ import annotations

import re
from typing import Any

from nagaya.simulators.proxmox.access.authentication import check_password, enabled_user
from nagaya.simulators.proxmox.access.paths import normalised
from nagaya.simulators.proxmox.access.rights import ROOT, Caller, Rights
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()

_SHOWN = {
    "vms": re.compile(r"VM\.|Permissions\.Modify"),
    "access": re.compile(r"User\.|Group\.|Permissions\.Modify"),
    "storage": re.compile(r"Datastore\.|Permissions\.Modify"),
    "nodes": re.compile(r"Sys\.|Permissions\.Modify"),
    "sdn": re.compile(r"SDN\.|Permissions\.Modify"),
    "dc": re.compile(r"Sys\.Audit|Sys\.Modify|SDN\."),
    "mapping": re.compile(r"Mapping\.|Permissions\.Modify"),
}
_LOOKED_AT = ("/", "/nodes", "/access/groups", "/vms", "/storage", "/sdn", "/mapping")


@handlers("GET", "/access/ticket")
async def nothing(call: Call) -> Json:
    """For formatters that show a page to log in with."""
    return None


@handlers("POST", "/access/ticket")
async def log_in(call: Call) -> Json:
    """A ticket, or whether credentials suffice for something."""
    emulator = call.emulator
    access = emulator.datacenter.access
    user = call["username"] + (f"@{call['realm']}" if call.get("realm") else "")
    rights = Rights(emulator.datacenter, Caller(user))
    answer: dict[str, Any] = {"username": user}
    try:
        enabled_user(user, access, emulator.world.clock)
        by_ticket = emulator.tickets.user(call["password"])
        to_verify = call.get("path") and call.get("privs")
        if call.get("tfa-challenge") is not None and not to_verify:
            raise Failure("nobody was asked for a second factor\n")
        trusted = by_ticket is not None and by_ticket in ((user,) if to_verify else (user, ROOT))
        if not trusted:
            check_password(user, call["password"], access)
        if to_verify:
            path, wanted = normalised(call["path"]), split_list(call["privs"])
            if path is None or not wanted:
                raise Failure(f"no permission ({call['path']}, {call['privs']})\n")
            rights.check(path, wanted)
        else:
            answer["ticket"] = emulator.tickets.ticket(user)
            answer["CSRFPreventionToken"] = emulator.tickets.forgery_token(user)
    except Failure:
        raise Failure("authentication failure\n", status=401) from None
    answer["cap"] = _capabilities(call, rights)
    if emulator.datacenter.name and rights.may("/", ["Sys.Audit"]):
        answer["clustername"] = emulator.datacenter.name
    emulator.log.say(call.node.name, ROOT, f"successful auth for user '{user}'")
    return answer


@handlers("POST", "/access/vncticket")
async def check_console_ticket(call: Call) -> Json:
    """Whether a ticket opens a console. The emulator has no consoles, so nobody ever got one that does."""
    raise Failure("authentication failure\n", status=401)


def _capabilities(call: Call, rights: Rights) -> dict[str, dict[str, int]]:
    """What PVE's page needs to know to show only what the user may do."""
    told: dict[str, dict[str, int]] = {kind: {} for kind in _SHOWN}
    for path in dict.fromkeys([*_LOOKED_AT, *call.emulator.datacenter.access.folders()]):
        kind = path.split("/")[1] or "dc"
        for privilege in rights.on(path):
            if kind == "pool":
                for shown in ("vms", "storage"):
                    if _SHOWN[shown].match(privilege):
                        told[shown][privilege] = 1
            elif kind in _SHOWN and _SHOWN[kind].match(privilege):
                told[kind][privilege] = 1
    return told
