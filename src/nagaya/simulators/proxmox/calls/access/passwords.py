"""Passwords. Whoever changes one confirms it with an own one; root@pam need not."""

from __future__ import annotations

from nagaya.simulators.proxmox.access.authentication import check_password, enabled_user, known_user
from nagaya.simulators.proxmox.access.names import realm_of
from nagaya.simulators.proxmox.access.rights import ROOT
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, Forbidden, ParameterFailure

handlers = Handlers()


async def set_password(call: Call, user: str, password: str) -> None:
    """Give a user a password, where that is kept: in a file of the cluster, or by the host, whose only user is root."""
    access = call.emulator.datacenter.access
    realm = realm_of(user) or ""
    if realm not in access.realms:
        raise Failure(f"auth domain '{realm}' does not exist\n")
    match access.realms[realm]["type"]:
        case "pve":
            async with call.emulator.locks.cluster("file-priv_shadow_cfg"):
                known_user(user, access).password = password
        case "pam":
            found = known_user(user, access)
            if user != ROOT and found.password is None:
                raise Failure(f"change password failed: user '{user.rpartition('@')[0]}' does not exist\n")
            found.password = password
        case other:
            raise Failure(f"can't set password on auth type '{other}'\n")


@handlers("PUT", "/access/password")
async def change(call: Call) -> Json:
    """Change the own password, or that of somebody else."""
    access, caller = call.emulator.datacenter.access, call.caller.id
    user = call["userid"]
    known_user(user, access)
    if user == ROOT and caller != ROOT:
        raise Forbidden
    if caller != ROOT:
        own = call.get("confirmation-password")
        if own is None:
            raise ParameterFailure({"confirmation-password": "password is required to modify user"})
        check_password(caller, own, access)
        if caller == user:
            enabled_user(user, access, call.emulator.world.clock)
        elif realm_of(user) == "pam":
            raise Forbidden
    await set_password(call, user, call["password"])
    call.emulator.log.say(call.node.name, ROOT, f"changed password for user '{user}'")
    return None
