"""Formats of storages, their volumes and their backups."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.addresses import IPV4, IPV6, dns_name, ip
from nagaya.simulators.proxmox.verification.formats.kinds import Check, holds, matching
from nagaya.simulators.proxmox.verification.sizes import parse_size

CONTENT = frozenset({"images", "rootdir", "vztmpl", "iso", "backup", "snippets", "none", "import"})
_OVERRIDE = re.compile(r"^([a-z]+)=([^.]*(?:\.?[^.]+)+)$")
_HOST = r"(?:[^\W_]|[-.])+"
_PORTALS = (
    re.compile(rf"^({IPV4}|{_HOST})(?::(\d+))?$"),
    re.compile(rf"^\[({IPV6}|{IPV4}|{_HOST})\](?::(\d+))?$"),
    re.compile(rf"^({IPV6})(?:\.(\d+))?$"),
)

volume_id = matching(r"^([a-z][a-z0-9\-_.]*[a-z0-9]):(.+)$", "unable to parse volume ID '{}'", re.IGNORECASE)


def content(value: str) -> None:
    """A kind of content."""
    if value not in CONTENT:
        raise FormatError(f"invalid content type '{value}'\n")


def directory_override(value: str) -> None:
    """Another directory for a kind of content."""
    matched = _OVERRIDE.match(value)
    if matched is not None:
        content(matched[1])
        if len(matched[2]) < 1023 and all(len(part) < 255 for part in matched[2].split("/")):
            return
    raise FormatError(f"invalid override '{value}'\n")


def disk_size(value: str) -> None:
    """A size with or without a unit."""
    if parse_size(value) is None:
        raise FormatError(f"value does not look like a valid disk size: {value}\n")


def server(value: str) -> None:
    """A host by name or address."""
    if not (holds(ip, value) or holds(dns_name, value)):
        raise FormatError("value does not look like a valid server name or IP address\n")


def portal(value: str) -> None:
    """A host with or without a port."""
    if not any(pattern.match(value) for pattern in _PORTALS):
        raise FormatError("value does not look like a valid portal address\n")


def volume_or_absolute_path(value: str) -> None:
    """A volume, or a file of the host."""
    if not value.startswith("/"):
        volume_id(value)


def volume_or_qemu_path(value: str) -> None:
    """A volume, a file of the host, the drive of the host, or nothing."""
    if value not in ("none", "cdrom"):
        volume_or_absolute_path(value)


FORMATS: dict[str, Check] = {
    "disk-size": disk_size,
    "pve-day-of-week": matching(r"^(mon|tue|wed|thu|fri|sat|sun)$", "invalid day '{}'"),
    "pve-dir-override": directory_override,
    "pve-storage-content": content,
    "pve-storage-options": matching(r"^\S+$", "invalid options '{}'"),
    "pve-storage-path": matching(r"^/[^;\(\)]+", "value does not look like a valid absolute path"),
    "pve-storage-path-in-property-string": matching(
        r"^/[^;,=\(\)]+",
        "Value does not look like a valid absolute path. These symbols are currently not allowed in path: ;,=()",
    ),
    "pve-storage-portal-dns": portal,
    "pve-storage-server": server,
    "pve-storage-vgname": matching(
        r"^[a-z0-9][a-z0-9\-_.]*[a-z0-9]$", "lvm name '{}' contains illegal characters", re.IGNORECASE
    ),
    "pve-storage-zfs-blocksize": matching(r"^\d+[kKmM]?$", "value does not look like a valid block size"),
    "pve-volume-id": volume_id,
    "pve-volume-id-or-absolute-path": volume_or_absolute_path,
    "pve-volume-id-or-qm-path": volume_or_qemu_path,
    "urlencoded": matching(r"^[-%a-zA-Z0-9_.!~*'()]*$", "invalid urlencoded string: {}"),
}
