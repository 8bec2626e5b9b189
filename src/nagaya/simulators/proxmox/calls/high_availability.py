"""Machines that the HA manager looks after."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest, check_quorum
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
LOCK = "domain-ha"
_ALL = "/cluster/ha/resources"
_ONE = "/cluster/ha/resources/{sid}"
OPTIONS = ("state", "group", "max_restart", "max_relocate", "comment", "failback", "auto-rebalance")
"""What users declare; all else that stands with a resource is the manager's own."""
MIGRATED = "ha groups have been migrated to rules\n"

_NUMBER = re.compile(r"[1-9][0-9]+")

Resources = dict[str, dict[str, Any]]


@handlers("GET", _ALL)
async def resources(call: Call) -> Json:
    """All, or those of one kind."""
    known = call.emulator.datacenter.ha.resources
    return [_shown(call, sid) for sid in known if call.get("type") in (None, sid.partition(":")[0])]


@handlers("GET", _ONE)
async def resource(call: Call) -> Json:
    """One of them."""
    sid = named(call)
    if sid not in call.emulator.datacenter.ha.resources:
        raise Failure(f"no such resource '{sid}'\n")
    return _shown(call, sid)


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """Let the manager look after a machine."""
    check_quorum(call)
    sid = named(call)
    kind = sid.partition(":")[0]
    if call.get("type") not in (None, kind):
        raise Failure("types does not match\n")
    _check_exists(call, sid)
    _check_group(call)
    known = call.emulator.datacenter.ha.resources
    async with changing(call, LOCK, "create resource failed"):
        if sid in known:
            raise Failure(f"resource ID '{sid}' already defined\n")
        known[sid] = {"type": kind, **_given(call)}
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Ask for another state, or change other options."""
    sid = named(call)
    known = call.emulator.datacenter.ha.resources
    _check_group(call)
    _check_state(known, sid, call.get("state"))
    async with changing(call, LOCK, "update resource failed"):
        check_digest(call, _digest(known))
        if sid not in known:
            raise Failure(f"no such resource '{sid}'\n")
        gone = split_list(call.get("delete") or "")
        for name in gone:
            if name not in OPTIONS:
                raise Failure(f"no such option '{name}'\n")
        known[sid] |= _given(call)
        for name in gone:
            known[sid].pop(name, None)
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Let it be. Rules forget the machine too, unless that is not wanted."""
    sid = named(call)
    high_availability = call.emulator.datacenter.ha
    if sid not in high_availability.resources:
        raise Failure(f"cannot delete service '{sid}', not HA managed!\n")
    async with changing(call, LOCK, "delete resource failed"):
        del high_availability.resources[sid]
        if call.get("purge", 1):
            _purge(high_availability.rules, sid)
    return None


def _purge(rules: Resources, sid: str) -> None:
    for name, rule in list(rules.items()):
        left = [other for other in split_list(str(rule["resources"])) if other != sid]
        if left:
            rule["resources"] = ",".join(left)
        else:
            del rules[name]


@handlers("POST", f"{_ONE}/migrate")
async def migrate(call: Call) -> Json:
    """Ask for another host."""
    return _moved(call, "migrate")


@handlers("POST", f"{_ONE}/relocate")
async def relocate(call: Call) -> Json:
    """Ask for another host, where the machine is started anew."""
    return _moved(call, "relocate")


def _moved(call: Call, how: str) -> Json:
    sid = named(call)
    known = call.emulator.datacenter.ha.resources
    if sid not in known:
        raise Failure(f"cannot {how} service '{sid}', not HA managed!\n")
    _check_state(known, sid, None)
    known[sid]["migrate"] = call["node"]
    return {"sid": sid, "requested-node": call["node"]}


def named(call: Call) -> str:
    """The resource that is meant; a bare number is a machine."""
    sid = str(call["sid"])
    if ":" in sid:
        return sid
    if int(sid) not in call.emulator.datacenter.guests:
        raise Failure(f"unable do add resource - VM/CT {sid} does not exist\n")
    return f"vm:{sid}"


def _check_exists(call: Call, sid: str) -> None:
    kind, _, name = sid.partition(":")
    if kind not in ("vm", "ct"):
        raise Failure(f"unknown section type '{kind}'\n")
    if _NUMBER.fullmatch(name) is None:
        raise Failure("invalid VMID\n")
    if kind != "vm" or int(name) not in call.emulator.datacenter.guests:
        raise Failure(f"resource '{sid}' does not exist in cluster\n")


def _given(call: Call) -> dict[str, Any]:
    given = {name: call[name] for name in OPTIONS if call.get(name) is not None}
    return {name: int(value) if isinstance(value, bool) else value for name, value in given.items()}


def _check_group(call: Call) -> None:
    if (group := call.get("group")) is None:
        return
    if call.emulator.version[0] != "8":
        raise Failure(f"invalid parameter 'group': {MIGRATED}")
    if group not in call.emulator.datacenter.ha.groups:
        raise Failure(f"HA group '{group}' does not exist\n")


def _check_state(known: Resources, sid: str, wanted: str | None) -> None:
    if known.get(sid, {}).get("crm") == "error" and wanted != "disabled":
        raise Failure(f"service '{sid}' in error state, must be disabled and fixed first\n")


def _shown(call: Call, sid: str) -> dict[str, Any]:
    known = call.emulator.datacenter.ha.resources
    declared = {name: known[sid][name] for name in OPTIONS if name in known[sid]}
    return {"sid": sid, "type": sid.partition(":")[0], **declared, "digest": _digest(known)}


def _digest(known: Resources) -> str:
    declared = [(sid, [(name, known[sid].get(name)) for name in OPTIONS]) for sid in sorted(known)]
    return hashlib.sha1(repr(declared).encode(), usedforsecurity=False).hexdigest()
