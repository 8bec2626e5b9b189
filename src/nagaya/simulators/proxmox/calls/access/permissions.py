"""What somebody may do, path by path."""

from __future__ import annotations

from nagaya.simulators.proxmox.access.rights import Rights, caller_of
from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json

handlers = Handlers()
_ALWAYS = ("/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms")


@handlers("GET", "/access/permissions")
async def permissions(call: Call) -> Json:
    """Privileges by path, each with whether it is passed on. Paths without any are left out, unless asked for."""
    datacenter = call.emulator.datacenter
    about = caller_of(call.get("userid") or call.caller.id)
    if about.id != call.caller.id and not (about.token is not None and about.user == call.caller.id):
        call.rights.check("/access", ["Sys.Audit"])
    rights = Rights(datacenter, about)
    if path := call.get("path"):
        return {path: _shown(rights, path)}
    paths = [
        *_ALWAYS,
        *datacenter.access.folders(),
        *(f"/vms/{vmid}" for pool in datacenter.pools.values() for vmid in pool.vms),
        *(f"/storage/{storage}" for pool in datacenter.pools.values() for storage in pool.storages),
    ]
    return {path: held for path in dict.fromkeys(paths) if (held := _shown(rights, path))}


def _shown(rights: Rights, path: str) -> dict[str, int]:
    return {privilege: int(passed_on) for privilege, passed_on in rights.on(path).items()}
