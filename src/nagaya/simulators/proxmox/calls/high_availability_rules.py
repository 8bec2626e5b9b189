"""Rules for the HA manager: which machines on which hosts, together or apart."""

from __future__ import annotations

import hashlib
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.calls.high_availability import LOCK
from nagaya.simulators.proxmox.calls.shared_file import changing, check_digest, check_quorum
from nagaya.simulators.proxmox.cluster.feasibility import complaints
from nagaya.simulators.proxmox.failure import Failure, ParameterFailure
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/cluster/ha/rules"
_ONE = "/cluster/ha/rules/{rule}"
_COMMON = frozenset({"comment", "disable", "resources"})
_OWN = {"node-affinity": frozenset({"nodes", "strict"}), "resource-affinity": frozenset({"affinity"})}
_REQUIRED = {"node-affinity": "nodes", "resource-affinity": "affinity"}

Rules = dict[str, dict[str, Any]]


@handlers("GET", _ALL)
async def rules(call: Call) -> Json:
    """All, or those of one kind or for one machine."""
    known = call.emulator.datacenter.ha.rules
    return [
        _shown(call, name)
        for name, rule in known.items()
        if call.get("type") in (None, rule["type"])
        and (call.get("resource") is None or call["resource"] in split_list(str(rule["resources"])))
    ]


@handlers("GET", _ONE)
async def rule(call: Call) -> Json:
    """One of them."""
    if call["rule"] not in call.emulator.datacenter.ha.rules:
        raise Failure(f"no such ha rule '{call['rule']}'\n")
    return _shown(call, call["rule"])


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one, for machines that the manager looks after."""
    check_quorum(call)
    known, kind, name = call.emulator.datacenter.ha.rules, call["type"], call["rule"]
    given = _given(call, kind)
    if _REQUIRED[kind] not in given:
        raise Failure(f"missing value for required option '{_REQUIRED[kind]}'\n")
    async with changing(call, LOCK, "create ha rule failed"):
        if name in known:
            raise Failure(f"HA rule '{name}' already defined\n")
        _check_named(call, given)
        new = {"type": kind, **given}
        _check_feasible(call, name, new)
        known[name] = new
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change it; of its kind it stays."""
    known, name = call.emulator.datacenter.ha.rules, call["rule"]
    async with changing(call, LOCK, "update HA rules failed"):
        check_digest(call, _digest(known))
        if name not in known:
            raise Failure(f"HA rule '{name}' does not exist\n")
        kind = known[name]["type"]
        given = _given(call, kind)
        _check_named(call, given)
        gone = split_list(call.get("delete") or "")
        for option in gone:
            if option not in _COMMON | _OWN[kind]:
                raise Failure(f"no such option '{option}'\n")
            if option in ("resources", _REQUIRED[kind]):
                raise Failure(f"unable to delete required option '{option}'\n")
            if option in given:
                raise Failure(f"cannot set and delete property '{option}' at the same time!\n")
        changed = {option: value for option, value in known[name].items() if option not in gone} | given
        _check_feasible(call, name, changed)
        known[name] = changed
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget it, if it is there."""
    async with changing(call, LOCK, "delete ha rule failed"):
        call.emulator.datacenter.ha.rules.pop(call["rule"], None)
    return None


def _given(call: Call, kind: str) -> dict[str, Any]:
    given = {
        name: int(value) if isinstance(value, bool) else value
        for name, value in call.parameters.items()
        if name not in ("rule", "type", "digest", "delete")
    }
    for name in sorted(given):
        if name not in _COMMON | _OWN[kind]:
            raise Failure(f"unexpected property '{name}'\n")
    for name in ("resources", "nodes"):
        if name in given:
            given[name] = ",".join(sorted(set(split_list(str(given[name])))))
    return given


def _check_named(call: Call, given: dict[str, Any]) -> None:
    high_availability, hosts = call.emulator.datacenter.ha, call.emulator.datacenter.nodes
    unmanaged = [sid for sid in split_list(str(given.get("resources", ""))) if sid not in high_availability.resources]
    if unmanaged:
        raise Failure(f"cannot use unmanaged resource(s) {', '.join(unmanaged)}.\n")
    named = {part.partition(":")[0] for part in split_list(str(given.get("nodes", "")))}
    if missing := sorted(named - hosts.keys()):
        raise Failure(f"cannot use non-existant node(s) {', '.join(missing)}.\n")


def _check_feasible(call: Call, name: str, rule: dict[str, Any]) -> None:
    """Refuse what could never be kept."""
    datacenter = call.emulator.datacenter
    why = complaints({**datacenter.ha.rules, name: rule}, datacenter.nodes).get(name)
    if why:
        raise ParameterFailure({"resources": ", ".join(why)}, f"Rule '{name}' is invalid.")


def _shown(call: Call, name: str) -> dict[str, Any]:
    known = call.emulator.datacenter.ha.rules
    facts = known[name]
    order = list(known).index(name) + 1
    shown = {"rule": name, **facts, "order": order, "digest": _digest(known)}
    why = complaints(known, call.emulator.datacenter.nodes).get(name)
    return {**shown, "errors": {"resources": why}} if why else shown


def _digest(known: Rules) -> str:
    return hashlib.sha1(repr(known).encode(), usedforsecurity=False).hexdigest()
