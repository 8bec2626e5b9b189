"""Formats of the network: addresses, networks, names, interfaces."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.kinds import Check, holds, matching

_OCTET = "(?:25[0-5]|(?:2[0-4]|1[0-9]|[1-9])?[0-9])"
IPV4 = rf"(?:(?:{_OCTET}\.){{3}}{_OCTET})"
_GROUP = "(?:[0-9a-fA-F]{1,4})"
_LAST_32_BITS = f"(?:{IPV4}|{_GROUP}:{_GROUP})"
IPV6 = (
    f"(?:(?:(?:{_GROUP}:){{6}}{_LAST_32_BITS})"
    f"|(?:::(?:{_GROUP}:){{5}}{_LAST_32_BITS})"
    f"|(?:(?:{_GROUP})?::(?:{_GROUP}:){{4}}{_LAST_32_BITS})"
    + "".join(
        f"|(?:(?:(?:{_GROUP}:){{0,{before}}}{_GROUP})?::(?:{_GROUP}:){{{4 - before}}}{_LAST_32_BITS})"
        for before in range(1, 4)
    )
    + f"|(?:(?:(?:{_GROUP}:){{0,4}}{_GROUP})?::{_LAST_32_BITS})"
    f"|(?:(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::{_GROUP})"
    f"|(?:(?:(?:{_GROUP}:){{0,6}}{_GROUP})?::))"
)
_LABEL = r"([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)"
_EMAIL_USER = r"[\w\+\-\~]+(\.[\w\+\-\~]+)*"
_EMAIL = rf"{_EMAIL_USER}@[a-zA-Z0-9\-]+(\.[a-zA-Z0-9\-]+)*"
_NETWORK_V4 = re.compile(rf"^{IPV4}/(\d+)$")
_NETWORK_V6 = re.compile(rf"^{IPV6}/(\d+)$")
_NETMASKS = frozenset(
    ".".join(str((0xFFFFFFFF << (32 - bits) & 0xFFFFFFFF) >> shift & 0xFF) for shift in (24, 16, 8, 0))
    for bits in range(33)
)
_VLANS = re.compile(r"^(\d+)(?:-(\d+))?$")

ip = matching(rf"^(?:{IPV4}|{IPV6})$", "value does not look like a valid IP address")
ipv4 = matching(rf"^{IPV4}$", "value does not look like a valid IPv4 address")
ipv6 = matching(rf"^{IPV6}$", "value does not look like a valid IPv6 address")
dns_name = matching(rf"^({_LABEL}\.)*{_LABEL}$", "value does not look like a valid DNS name")


def _network(pattern: re.Pattern[str], bits: int, value: str) -> bool:
    matched = pattern.match(value)
    return matched is not None and 7 < int(matched[1]) <= bits


def cidr_v4(value: str) -> None:
    """An IPv4 network."""
    if not _network(_NETWORK_V4, 32, value):
        raise FormatError("value does not look like a valid IPv4 CIDR network\n")


def cidr_v6(value: str) -> None:
    """An IPv6 network."""
    if not _network(_NETWORK_V6, 128, value):
        raise FormatError("value does not look like a valid IPv6 CIDR network\n")


def cidr(value: str) -> None:
    """A network of either kind."""
    if not (_network(_NETWORK_V4, 32, value) or _network(_NETWORK_V6, 128, value)):
        raise FormatError("value does not look like a valid CIDR network\n")


def ipv4_configuration(value: str) -> None:
    """How an interface gets its IPv4 address."""
    if value not in ("dhcp", "manual") and not _network(_NETWORK_V4, 32, value):
        raise FormatError("value does not look like a valid ipv4 network configuration\n")


def ipv6_configuration(value: str) -> None:
    """How an interface gets its IPv6 address."""
    if value not in ("auto", "dhcp", "manual") and not _network(_NETWORK_V6, 128, value):
        raise FormatError("value does not look like a valid ipv6 network configuration\n")


def netmask(value: str) -> None:
    """An IPv4 netmask in dotted form."""
    if value not in _NETMASKS:
        raise FormatError("value does not look like a valid IP netmask\n")


def address(value: str) -> None:
    """An address or a name."""
    if not (holds(ip, value) or holds(dns_name, value)):
        raise FormatError(f"value does not look like a valid address: {value}\n")


def vlan_or_range(value: str) -> None:
    """A VLAN or several that follow each other."""
    matched = _VLANS.match(value)
    if matched is None:
        raise FormatError(f"invalid VLAN configuration '{value}'\n")
    for tag in matched.groups():
        if tag and not 2 <= int(tag) <= 4094:
            raise FormatError(f"invalid VLAN tag '{tag}'\n")
    if matched[2] and int(matched[1]) >= int(matched[2]):
        raise FormatError(f"VLAN range must go from lower to higher tag '{value}'\n")


FORMATS: dict[str, Check] = {
    "CIDR": cidr,
    "CIDRv4": cidr_v4,
    "CIDRv6": cidr_v6,
    "address": address,
    "dns-name": dns_name,
    "email": matching(rf"^{_EMAIL}$", "value does not look like a valid email address"),
    "email-or-username": matching(
        rf"^(?:{_EMAIL}|{_EMAIL_USER})$", "value does not look like a valid email address or user name"
    ),
    "ip": ip,
    "ipv4": ipv4,
    "ipv4mask": netmask,
    "ipv6": ipv6,
    "ldap-simple-attr": matching(r"^[a-zA-Z0-9]+$", "value '{}' does not look like a simple ldap attribute name"),
    "mac-addr": matching(
        r"^[a-f0-9][02468ace](?::[a-f0-9]{2}){5}$",
        "value does not look like a valid unicast MAC address",
        re.IGNORECASE,
    ),
    "mac-prefix": matching(
        r"^[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}:?$",
        "value is not a valid unicast MAC address prefix",
        re.IGNORECASE,
    ),
    "pve-acme-alias": matching(
        r"^[a-z0-9_][a-z0-9_-]*(?:\.[a-z0-9_][a-z0-9_-]*)+$",
        "value '{}' does not look like a valid alias name!",
        re.IGNORECASE,
    ),
    "pve-acme-domain": matching(
        r"^[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9][a-z0-9_-]*)+$",
        "value '{}' does not look like a valid domain name!",
        re.IGNORECASE,
    ),
    "pve-iface": matching(r"^[a-z][a-z0-9_]{1,20}([:\.]\d+)?$", "invalid network interface name '{}'", re.IGNORECASE),
    "pve-ipv4-config": ipv4_configuration,
    "pve-ipv6-config": ipv6_configuration,
    "pve-vlan-id-or-range": vlan_or_range,
}
