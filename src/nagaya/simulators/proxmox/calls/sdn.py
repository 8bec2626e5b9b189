"""Zones and virtual networks.

Changes are kept as running at once: the emulator has no second, pending version of the network that is applied later.
"""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest, check_quorum
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_LOCK = "file-sdn__running-config"
_READERS = ("SDN.Audit", "SDN.Allocate")
_NO_OPTIONS = frozenset({"zone", "vnet", "digest", "delete", "lock-token", "pending", "running"})


@handlers("GET", "/cluster/sdn/zones")
async def zones(call: Call) -> Json:
    """Those that the caller may see."""
    known = call.emulator.datacenter.zones
    return [
        {"zone": name, **facts, "digest": _digest(known)}
        for name, facts in sorted(known.items())
        if call.get("type") in (None, facts["type"]) and call.rights.may(f"/sdn/zones/{name}", _READERS, any=True)
    ]


@handlers("GET", "/nodes/{node}/sdn/zones")
async def zones_of_host(call: Call) -> Json:
    """How a host does with those that it belongs to; PVE shows them to everybody."""
    return [
        {"zone": name, "status": "available"}
        for name, facts in sorted(call.emulator.datacenter.zones.items())
        if not facts.get("nodes") or call.node.name in split_list(str(facts["nodes"]))
    ]


@handlers("GET", "/nodes/{node}/sdn/zones/{zone}/content")
async def networks_of_host(call: Call) -> Json:
    """How the networks of a zone do on a host."""
    return [
        {"vnet": name, "status": "available", "statusmsg": None}
        for name, facts in sorted(call.emulator.datacenter.vnets.items())
        if facts.get("zone") == call["zone"]
    ]


@handlers("GET", "/cluster/sdn/zones/{zone}")
async def zone(call: Call) -> Json:
    """One of them."""
    known = call.emulator.datacenter.zones
    return {"zone": call["zone"], **_known(known, call["zone"]), "digest": _digest(known)}


@handlers("POST", "/cluster/sdn/zones")
async def create_zone(call: Call) -> Json:
    """A new one."""
    check_quorum(call)
    known, name = call.emulator.datacenter.zones, call["zone"]
    async with changing(call, _LOCK, "create sdn zone object failed"):
        if name in known:
            raise Failure(f"sdn zone object ID '{name}' already defined\n")
        known[name] = _given(call)
    return None


@handlers("PUT", "/cluster/sdn/zones/{zone}")
async def update_zone(call: Call) -> Json:
    """Change some of its options."""
    known = call.emulator.datacenter.zones
    async with changing(call, _LOCK, "update sdn zone object failed"):
        check_digest(call, _digest(known))
        _change(call, _known(known, call["zone"]))
    return None


@handlers("DELETE", "/cluster/sdn/zones/{zone}")
async def remove_zone(call: Call) -> Json:
    """Forget one that no network is in."""
    known, name = call.emulator.datacenter.zones, call["zone"]
    async with changing(call, _LOCK, "delete sdn zone object failed"):
        _known(known, name)
        for vnet, facts in call.emulator.datacenter.vnets.items():
            if facts.get("zone") == name:
                raise Failure(f"zone {name} is used by vnet {vnet}\n")
        del known[name]
    return None


@handlers("GET", "/cluster/sdn/vnets")
async def vnets(call: Call) -> Json:
    """Those that the caller may see."""
    known = call.emulator.datacenter.vnets
    return [
        {"vnet": name, "type": "vnet", **facts, "digest": _digest(known)}
        for name, facts in sorted(known.items())
        if call.rights.may(f"/sdn/zones/{facts.get('zone')}/{name}", _READERS, any=True)
    ]


@handlers("GET", "/cluster/sdn/vnets/{vnet}")
async def vnet(call: Call) -> Json:
    """One of them."""
    known = call.emulator.datacenter.vnets
    _check_vnet(call, *_READERS)
    return {"vnet": call["vnet"], "type": "vnet", **_known(known, call["vnet"]), "digest": _digest(known)}


@handlers("POST", "/cluster/sdn/vnets")
async def create_vnet(call: Call) -> Json:
    """A new one, in a zone that there is."""
    check_quorum(call)
    known, name = call.emulator.datacenter.vnets, call["vnet"]
    async with changing(call, _LOCK, "create sdn vnet object failed"):
        if name in known:
            raise Failure(f"sdn vnet object ID '{name}' already defined\n")
        _known(call.emulator.datacenter.zones, call["zone"])
        known[name] = {"zone": call["zone"], **_given(call)}
    return None


@handlers("PUT", "/cluster/sdn/vnets/{vnet}")
async def update_vnet(call: Call) -> Json:
    """Change some of its options."""
    known = call.emulator.datacenter.vnets
    _check_vnet(call, "SDN.Allocate")
    async with changing(call, _LOCK, "update sdn vnet object failed"):
        check_digest(call, _digest(known))
        changed = _known(known, call["vnet"])
        _change(call, changed)
        if call.get("zone"):
            changed["zone"] = call["zone"]
    return None


@handlers("DELETE", "/cluster/sdn/vnets/{vnet}")
async def remove_vnet(call: Call) -> Json:
    """Forget it."""
    known = call.emulator.datacenter.vnets
    _check_vnet(call, "SDN.Allocate")
    async with changing(call, _LOCK, "delete sdn vnet object failed"):
        _known(known, call["vnet"])
        del known[call["vnet"]]
    return None


@handlers("GET", "/cluster/sdn/vnets/{vnet}/subnets")
async def subnets(call: Call) -> Json:
    """Networks in it: none are kept."""
    _check_vnet(call, *_READERS)
    return []


def _known(known: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] | None = known.get(name)
    if found is None:
        raise Failure(f"sdn '{name}' does not exist\n")
    return found


def _check_vnet(call: Call, *privileges: str) -> None:
    """Refuse who has none of some rights on a network; one that is not there is told first."""
    zone = _known(call.emulator.datacenter.vnets, call["vnet"]).get("zone")
    call.rights.check(f"/sdn/zones/{zone}/{call['vnet']}", privileges, any=True)


def _given(call: Call) -> dict[str, Any]:
    given = {name: value for name, value in call.parameters.items() if name not in _NO_OPTIONS}
    return {name: int(value) if isinstance(value, bool) else value for name, value in given.items()}


def _change(call: Call, facts: dict[str, Any]) -> None:
    given, gone = _given(call), split_list(call.get("delete") or "")
    for name in gone:
        if name in given:
            raise Failure(f"cannot set and delete property '{name}' at the same time!\n")
    for name in gone:
        facts.pop(name, None)
    facts |= given


def _digest(known: dict[str, Any]) -> str:
    return hashlib.sha1(repr(sorted(known.items())).encode(), usedforsecurity=False).hexdigest()
