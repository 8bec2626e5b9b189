"""Groups of hosts for the HA manager, up to PVE 8. In PVE 9 there are rules instead, and these calls only say so."""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.high_availability import LOCK, MIGRATED
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest, check_quorum
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/cluster/ha/groups"
_ONE = "/cluster/ha/groups/{group}"


@handlers("GET", _ALL)
async def groups(call: Call) -> Json:
    """All of them."""
    known = _known(call, "index groups")
    return [_shown(known, name) for name in known]


@handlers("GET", _ONE)
async def group(call: Call) -> Json:
    """One of them."""
    known = _known(call, "read group")
    if call["group"] not in known:
        raise Failure(f"no such ha group '{call['group']}'\n")
    return _shown(known, call["group"])


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    check_quorum(call)
    known = _known(call, "create group")
    async with changing(call, LOCK, "create ha group failed"):
        if call["group"] in known:
            raise Failure(f"ha group ID '{call['group']}' already defined\n")
        known[call["group"]] = {"type": "group", **_given(call)}
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change it."""
    known = _known(call, "update group")
    async with changing(call, LOCK, "update ha group failed"):
        check_digest(call, _digest(known))
        if call["group"] not in known:
            raise Failure(f"no such ha group '{call['group']}'\n")
        for name in split_list(call.get("delete") or ""):
            known[call["group"]].pop(name, None)
        known[call["group"]] |= _given(call)
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget one that no machine is in."""
    known = _known(call, "delete group")
    async with changing(call, LOCK, "delete ha group failed"):
        for sid, facts in call.emulator.datacenter.ha.resources.items():
            if facts.get("group") == call["group"]:
                raise Failure(f"ha group is used by service '{sid}'\n")
        known.pop(call["group"], None)
    return None


def _known(call: Call, what: str) -> dict[str, dict[str, Any]]:
    if call.emulator.version[0] != "8":
        raise Failure(f"cannot {what}: {MIGRATED}")
    return call.emulator.datacenter.ha.groups


def _given(call: Call) -> dict[str, Any]:
    given = {
        name: value for name, value in call.parameters.items() if name not in ("group", "type", "digest", "delete")
    }
    return {name: int(value) if isinstance(value, bool) else value for name, value in given.items()}


def _shown(known: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    return {"group": name, **known[name], "digest": _digest(known)}


def _digest(known: dict[str, dict[str, Any]]) -> str:
    return hashlib.sha1(repr(known).encode(), usedforsecurity=False).hexdigest()
