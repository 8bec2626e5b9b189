"""The certificates of a host. Everybody who is known may read them: they are what clients are to trust."""

from __future__ import annotations

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.cluster import certificates

handlers = Handlers()


@handlers("GET", "/nodes/{node}/certificates/info")
async def info(call: Call) -> Json:
    """That of the cluster's authority, and the host's own."""
    return certificates.of_host(call.emulator, call.node)
