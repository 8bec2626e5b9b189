"""Formats of names: of guests, hosts, users, pools, and of what users and tasks can do or be."""

from __future__ import annotations

import re
from functools import cache

from nagaya.simulators.proxmox.surface.loading import routes
from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.kinds import Check, matching
from nagaya.simulators.proxmox.verification.values import is_true, split_list

_REALM = r"[A-Za-z][A-Za-z0-9\.\-_]+"
_USER = r"[^\s:/]+"
_NAME = r"[A-Za-z0-9\.\-_]+"
_PAIR = re.compile(r"^([^:]+):([^:]+)$")
_USER_ID = re.compile(rf"^{_USER}@{_REALM}$")
_POOL = re.compile(rf"^{_NAME}(?:/{_NAME}){{0,2}}$")
_JOB = re.compile(r"^(\S+)-(\d+)$")
_ID = r"^[a-z][a-z0-9\-_.]*[a-z0-9]$"

storage_id = matching(_ID, "storage ID '{}' contains illegal characters", re.IGNORECASE)
bridge_id = matching(r"^[-_.\w\d]+$", "invalid bridge ID '{}'")
vmid = matching(r"^[1-9][0-9]{2,8}$", "value does not look like a valid VM ID")


def user_id(value: str) -> None:
    """A user with the realm."""
    name = value if is_true(value) else ""
    if len(name) < 3:
        raise FormatError(f"user name '{name}' is too short\n")
    if len(name) > 64:
        raise FormatError(f"user name '{name}' is too long ({len(name)} > 64)\n")
    if _USER_ID.match(name) is None:
        raise FormatError(f"value '{name}' does not look like a valid user name\n")


def pool_id(value: str) -> None:
    """A pool, which can be inside another, three deep."""
    if len(value.rstrip("/").split("/")) > 3:
        raise FormatError(f"pool name '{value}' nested too deeply (max levels = 3)\n")
    if _POOL.match(value) is None:
        raise FormatError(f"pool name '{value}' contains invalid characters\n")


@cache
def privileges(version: str) -> frozenset[str]:
    """All rights that exist: PVE publishes them as the possible content of a role."""
    return frozenset(routes(version).get("GET", "/access/roles/{roleid}").returns.properties)


def _privilege(version: str) -> Check:
    def check(value: str) -> None:
        if value not in privileges(version):
            raise FormatError(f"invalid privilege '{value}'\n")

    return check


def _mapping(identifier: Check) -> Check:
    """What stands for what at the other end: `here:there`, `there` for all, or 1 for no change."""

    def checked(entry: str, *names: str) -> None:
        for name in names:
            try:
                identifier(name)
            except FormatError as error:
                # PVE wraps the complaint twice, each time with a line break of its own.
                raise FormatError(f"entry '{entry}' contains invalid ID - {error.text}\n\n") from error

    def check(value: str) -> None:
        sources: set[str] = set()
        identity = default = False
        for entry in split_list(value):
            pair = _PAIR.match(entry)
            if entry == "1":
                identity = True
            elif pair is not None:
                checked(entry, pair[1], pair[2])
                if pair[1] in sources:
                    raise FormatError(f"duplicate mapping for source '{pair[1]}'\n\n")
                sources.add(pair[1])
            else:
                checked(entry, entry)
                if default:
                    raise FormatError("default target ID can only be provided once\n\n")
                default = True
        if identity and (default or sources):
            raise FormatError("identity mapping cannot be combined with other mappings\n\n")

    return check


def replication_job(value: str) -> None:
    """A guest and the number of the job."""
    matched = _JOB.match(value)
    if matched is None:
        raise FormatError(f"invalid replication job id '{value}'\n")
    try:
        vmid(matched[1])
    except FormatError as error:
        raise FormatError(f"invalid replication job id '{value}' - {error.text}") from error


def anything(value: str) -> None:
    """Every string will do; with -list it says that it is one."""


FORMATS: dict[str, Check] = {
    "bridge-pair": _mapping(bridge_id),
    "pve-bridge-id": bridge_id,
    "pve-configid": matching(r"^[a-z][a-z0-9_-]+$", "invalid configuration ID '{}'", re.IGNORECASE),
    "pve-groupid": matching(rf"^{_NAME}$", "group name '{}' contains invalid characters"),
    "pve-ha-node": matching(
        r"^([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)(:\d+)?$", "value does not look like a valid ha node"
    ),
    "pve-ha-resource-id": matching(r"^[a-z]+:\S+$", "value does not look like a valid ha resource id"),
    "pve-ha-resource-or-vm-id": matching(r"^([a-z]+:\S+|\d+)$", "value does not look like a valid ha resource id"),
    "pve-node": matching(r"^([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)$", "value does not look like a valid node name"),
    "pve-poolid": pool_id,
    "pve-priv": _privilege("9.2"),
    "pve-priv-8.4": _privilege("8.4"),
    "pve-realm": matching(rf"^{_REALM}$", "value does not look like a valid realm"),
    "pve-replication-job-id": replication_job,
    "pve-roleid": matching(rf"^{_NAME}$", "role name '{}' contains invalid characters"),
    "pve-sdn-fabric-id": matching(
        r"^[a-zA-Z0-9][a-zA-Z0-9-]{0,6}[a-zA-Z0-9]?$", "Fabric ID '{}' contains illegal characters"
    ),
    "pve-storage-id": storage_id,
    "pve-tag": matching(r"^[a-z0-9_][a-z0-9_\-\+\.]*$", "invalid characters in tag", re.IGNORECASE),
    "pve-task-status-type": matching(r"^(ok|error|warning|unknown)$", "invalid status '{}'", re.IGNORECASE),
    "pve-tokenid": matching(rf"^{_USER}@{_REALM}!{_REALM}$", "value '{}' does not look like a valid token ID"),
    "pve-userid": user_id,
    "pve-vmid": vmid,
    "storage-pair": _mapping(storage_id),
    "string": anything,
}
