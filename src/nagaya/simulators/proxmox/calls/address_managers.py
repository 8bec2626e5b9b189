"""Who hands out addresses in virtual networks: PVE itself. The emulator hands out none, so its list is empty."""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure

handlers = Handlers()
_ALL = "/cluster/sdn/ipams"
_ONE = "/cluster/sdn/ipams/{ipam}"
_OWN = "pve"
_READERS = ("SDN.Audit", "SDN.Allocate")


@handlers("GET", _ALL)
async def managers(call: Call) -> Json:
    """The one that every PVE has."""
    if call.get("type") not in (None, _OWN) or not call.rights.may(f"/sdn/ipams/{_OWN}", _READERS, any=True):
        return []
    return [_shown()]


@handlers("GET", _ONE)
async def manager(call: Call) -> Json:
    """One of them."""
    if call["ipam"] != _OWN:
        raise Failure(f"sdn '{call['ipam']}' does not exist\n")
    return _shown()


@handlers("GET", f"{_ONE}/status")
async def addresses(call: Call) -> Json:
    """Those in use: none. PVE can tell only of its own."""
    if call["ipam"] != _OWN:
        raise Failure("Currently only PVE IPAM is supported!\n")
    return []


def _shown() -> dict[str, Any]:
    """It is there without a file, so the digest is that of nothing."""
    return {"ipam": _OWN, "type": _OWN, "digest": hashlib.sha1(b"", usedforsecurity=False).hexdigest()}
