"""GET /version."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json

handlers = Handlers()
_REPOSITORY = {"9": "14a22df3", "8": "f4ab4a0d"}


@handlers("GET", "/version")
async def version(call: Call) -> Json:
    """What runs here."""
    full = call.emulator.datacenter.version
    return {"version": full, "repoid": _REPOSITORY.get(full[0], ""), "release": call.emulator.version}
