"""Passwords. Whoever changes one confirms it with an own one; root@pam need not."""

from __future__ import annotations

from nagaya.simulators.proxmox.access.authentication import check_password, enabled_user, known_user
from nagaya.simulators.proxmox.access.names import realm_of
from nagaya.simulators.proxmox.access.rights import ROOT
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, Forbidden, ParameterFailure
from nagaya.simulators.proxmox.state.access import Access

handlers = Handlers()


def set_password(access: Access, user: str, password: str) -> None:
    """Give a user of a realm that is kept here a password."""
    realm = realm_of(user) or ""
    if realm not in access.realms:
        raise Failure(f"auth domain '{realm}' does not exist\n")
    known_user(user, access).password = password


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
    set_password(access, user, call["password"])
    return None
