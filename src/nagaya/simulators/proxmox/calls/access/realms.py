"""Realms: where users come from. Only those that every PVE has can tell a right password from a wrong one here."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from nagaya.simulators.proxmox.calls.call import Call, Handlers, Json
from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.state.access import realms as realms_of_every_pve
from nagaya.simulators.proxmox.verification import split_list

handlers = Handlers()
_ALL = "/access/domains"
_ONE = "/access/domains/{realm}"
_BUILT_IN = ("pam", "pve")
_SERVERS = ("ldap", "ad")
_REQUIRED = {
    "ad": ("server1", "domain"),
    "ldap": ("server1", "base_dn", "user_attr"),
    "openid": ("issuer-url", "client-id"),
}
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
    by_host = {"plugin": "PVE::Auth::PAM"} if call["realm"] == "pam" else {}
    return {**known[call["realm"]], **by_host, "digest": _digest(call)}


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
        _check_connection(call, kind)
        options = _options(call)
        for required in _REQUIRED.get(kind, ()):
            if options.get(required) is None:
                raise Failure(f"missing value for required option '{required}'\n")
        _only_default(known, options)
        known[name] = options
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
        _check_connection(call, known[name]["type"])
        options, removed = _options(call), split_list(call.get("delete") or "")
        if not options and not removed and call.get("password") is None:
            raise Failure("no options specified\n")
        _only_default(known, options)
        known[name] = {key: value for key, value in known[name].items() if key not in removed} | options
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


def _check_connection(call: Call, kind: str) -> None:
    if call.get("check-connection") is not None and kind not in _SERVERS:
        raise Failure("'check-connection' parameter can only be set for realms of type 'ldap' or 'ad'\n")


def _only_default(known: dict[str, dict[str, Any]], options: Mapping[str, object]) -> None:
    """One that becomes the default takes that from all others."""
    if options.get("default"):
        for realm in known.values():
            realm.pop("default", None)


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
