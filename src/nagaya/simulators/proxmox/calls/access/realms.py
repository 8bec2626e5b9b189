"""Realms: where users come from. Only those that every PVE has can tell a right password from a wrong one here."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.access import realms as realms_of_every_pve
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/access/domains"
_ONE = "/access/domains/{realm}"
_BUILT_IN = ("pam", "pve")
_HANDLED_APART = ("realm", "password", "check-connection", "delete", "digest")


@asynccontextmanager
async def _domain_config(call: Call, failed: str) -> AsyncIterator[None]:
    try:
        async with call.emulator.locks.cluster("file-domains_cfg"):
            yield
    except Failure as failure:
        raise Failure(f"{failed}: {failure.text}") from failure


@handlers("GET", _ALL)
async def realms(call: Call) -> Json:
    """All of them: the page for logging in shows them to everybody."""
    return [
        {"realm": name, **{key: realm[key] for key in ("type", "comment", "default") if realm.get(key)}}
        for name, realm in call.emulator.datacenter.access.realms.items()
    ]


@handlers("GET", _ONE)
async def realm(call: Call) -> Json:
    """One of them."""
    known = call.emulator.datacenter.access.realms
    if call["realm"] not in known:
        raise Failure(f"domain '{call['realm']}' does not exist\n")
    return {**known[call["realm"]], "digest": _digest(call)}


@handlers("POST", _ALL)
async def create(call: Call) -> Json:
    """A new one."""
    known = call.emulator.datacenter.access.realms
    name, kind = call["realm"], call["type"]
    async with _domain_config(call, "add auth server failed"):
        if name in known:
            raise Failure(f"domain '{name}' already exists\n")
        if kind in _BUILT_IN:
            raise Failure(f"unable to create builtin type '{kind}'\n")
        known[name] = _options(call)
    return None


@handlers("PUT", _ONE)
async def update(call: Call) -> Json:
    """Change one."""
    known = call.emulator.datacenter.access.realms
    name = call["realm"]
    async with _domain_config(call, "update auth server failed"):
        if call.get("digest") not in (None, _digest(call)):
            raise Failure("detected modified configuration - file changed by other user? Try again.\n")
        if name not in known:
            raise Failure(f"domain '{name}' does not exist\n")
        options, removed = _options(call), split_list(call.get("delete") or "")
        if not options and not removed and call.get("password") is None:
            raise Failure("no options specified\n")
        known[name] = {key: value for key, value in {**known[name], **options}.items() if key not in removed}
    return None


@handlers("DELETE", _ONE)
async def remove(call: Call) -> Json:
    """Forget one; those that every PVE has come back by themselves."""
    known = call.emulator.datacenter.access.realms
    name = call["realm"]
    async with _domain_config(call, "delete auth server failed"):
        if name not in known:
            raise Failure(f"authentication domain '{name}' does not exist\n")
        del known[name]
        for built_in, facts in realms_of_every_pve().items():
            known.setdefault(built_in, facts)
    return None


def _options(call: Call) -> dict[str, object]:
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in call.parameters.items()
        if name not in _HANDLED_APART and value is not None
    }


def _digest(call: Call) -> str:
    """Of the file, in which realms that every PVE has do not stand."""
    brought = realms_of_every_pve()
    own = {
        name: facts
        for name, facts in call.emulator.datacenter.access.realms.items()
        if facts != brought.get(name)
    }  # fmt: skip
    return hashlib.sha1(repr(own).encode() if own else b"", usedforsecurity=False).hexdigest()
