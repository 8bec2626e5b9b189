"""Who has which role where."""

from __future__ import annotations

from nagaya.simulators.proxmox.access.names import token_parts
from nagaya.simulators.proxmox.access.paths import known, normalised
from nagaya.simulators.proxmox.access.rights import ROOT
from nagaya.simulators.proxmox.access.roles import built_in
from nagaya.simulators.proxmox.calls.access.tokens import known_token
from nagaya.simulators.proxmox.calls.access.user_config import user_config
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()


@handlers("GET", "/access/acl")
async def entries(call: Call) -> Json:
    """All entries that the caller could change, or all for an auditor."""
    auditor = call.rights.may("/access", ["Sys.Audit"])
    return [
        {"path": path, "type": kind, "ugid": id, "roleid": role, "propagate": int(propagate)}
        for (path, kind, id, role), propagate in sorted(call.emulator.datacenter.access.acl.items())
        if auditor or call.rights.may_grant(path)
    ]


@handlers("PUT", "/access/acl")
async def change(call: Call) -> Json:
    """Give roles, or take them away. What root@pam is given is not written down: that user may do everything."""
    holders = ("users", "groups", "tokens")
    if not any(call.get(kind) for kind in holders):
        raise ParameterFailure(dict.fromkeys(holders, "either 'users', 'groups' or 'tokens' is required."))
    path = normalised(call["path"])
    remove = bool(call.get("delete"))
    if path is None or not (remove or known(path)):
        raise ParameterFailure({"path": f"invalid ACL path '{call['path']}'"})
    propagate = bool(call.get("propagate", True))
    async with user_config(call, "ACL update failed"):
        acl = call.emulator.datacenter.access.acl
        for role in split_list(call["roles"]):
            _may_hand_out(call, path, role, remove=remove, propagate=propagate)
            for kind, id in _holders(call):
                if remove:
                    acl.pop((path, kind, id, role), None)
                elif (kind, id) != ("user", ROOT):
                    acl[path, kind, id, role] = propagate
    return None


def _may_hand_out(call: Call, path: str, role: str, *, remove: bool, propagate: bool) -> None:
    """Without Permissions.Modify only roles that hold no more than the caller has there."""
    datacenter = call.emulator.datacenter
    privileges = built_in(datacenter.version).get(role, datacenter.access.roles.get(role))
    if privileges is None:
        raise Failure(f"role '{role}' does not exist\n")
    held = call.rights.on(path)
    if "Permissions.Modify" in held:
        return
    what = f"Cannot {'remove' if remove else 'add'} role '{role}'"
    for privilege in sorted(privileges):
        if privilege not in held:
            raise ParameterFailure({"role": f"{what} - requires 'Permissions.Modify' or superset of privileges."})
        if propagate and not remove and not held[privilege]:
            why = "requires 'Permissions.Modify' or propagated superset of privileges."
            raise ParameterFailure({"role": f"{what} with propagation - {why}"})
    if role == "NoAccess":
        raise ParameterFailure({"role": f"{what} - requires 'Permissions.Modify'"})


def _holders(call: Call) -> list[tuple[str, str]]:
    access = call.emulator.datacenter.access
    found: list[tuple[str, str]] = []
    for group in split_list(call.get("groups") or ""):
        if group not in access.groups:
            raise Failure(f"group '{group}' does not exist\n")
        found.append(("group", group))
    for user in split_list(call.get("users") or ""):
        if user not in access.users:
            raise Failure(f"user '{user}' does not exist\n")
        found.append(("user", user))
    for id in split_list(call.get("tokens") or ""):
        if (parts := token_parts(id)) is None:
            raise Failure(f"'{id}' is not a valid token ID - not able to split into user and token parts\n")
        known_token(access, *parts)
        found.append(("token", id))
    return found
