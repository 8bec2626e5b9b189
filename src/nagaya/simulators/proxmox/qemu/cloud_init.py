"""The boot data that PVE writes by itself, from the options `ciuser`, `ipconfig0` and their like.

The instance id is a digest of the data: a guest that has booted before takes a change for a new machine, and runs its
first-boot steps again.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu.networks import address_family, networks_of

MASK = "**********"


@dataclass(frozen=True, slots=True)
class Resolver:
    """What the host itself uses to look up names: machines that were told nothing get the same."""

    search: str = ""
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BootData:
    """What a machine finds in its drive."""

    user: str
    network: str
    meta: str
    vendor: str = ""
    label: str = "cidata"


def form(section: Mapping[str, Any]) -> str:
    """nocloud, configdrive2 or opennebula."""
    if section.get("citype"):
        return str(section["citype"])
    return "configdrive2" if str(section.get("ostype", "")).startswith("w") else "nocloud"


def names(section: Mapping[str, Any], vmid: int) -> tuple[str, str]:
    """Short and full name of the machine."""
    name = str(section.get("name") or f"VM{vmid}")
    if "." in name:
        return name.partition(".")[0], name
    search = section.get("searchdomain")
    return name, f"{name}.{search}" if search else name


def user_data(section: Mapping[str, Any], vmid: int, *, mask: bool = False) -> str:
    """Who can log in, and what happens at first boot."""
    short, full = names(section, vmid)
    lines = ["#cloud-config", f"hostname: {short}", "manage_etc_hosts: true", f"fqdn: {full}"]
    user, password = section.get("ciuser"), section.get("cipassword")
    if user is not None:
        lines.append(f"user: {user}")
        if user == "root":
            lines.append("disable_root: False")
    if password is not None:
        lines.append(f"password: {MASK if mask else password}")
    if section.get("sshkeys") is not None:
        lines.append("ssh_authorized_keys:")
        lines += [f"  - {key}" for key in ssh_keys(section)]
    lines += ["chpasswd:", "  expire: False"]
    if user != "root":
        lines += ["users:", "  - default"]
    if str(section.get("ciupgrade", 1)) != "0":
        lines.append("package_upgrade: true")
    return "".join(f"{line}\n" for line in lines)


def ssh_keys(section: Mapping[str, Any]) -> list[str]:
    """Keys of those who can log in."""
    return [key for key in unquote(str(section.get("sshkeys") or "")).split("\n") if key.strip()]


def network_data(section: Mapping[str, Any], resolver: Resolver) -> str:
    """Which addresses the machine takes."""
    return _version_1(section, resolver) if form(section) == "nocloud" else _interfaces(section, resolver)


def meta_data(section: Mapping[str, Any], user: str, network: str) -> str:
    """The identity of the data."""
    identity = hashlib.sha1((user + network).encode(), usedforsecurity=False).hexdigest()
    if form(section) == "nocloud":
        return f"instance-id: {identity}\n"
    return f'{{\n     "uuid": "{identity}",\n     "network_config": {{ "content_path": "/content/0000" }}\n}}\n'


def dump(section: Mapping[str, Any], vmid: int, kind: str, resolver: Resolver, *, mask: bool = False) -> str:
    """One of the three parts: user, network or meta."""
    if kind == "network":
        return network_data(section, resolver)
    user = user_data(section, vmid, mask=mask)
    return user if kind == "user" else meta_data(section, user, network_data(section, resolver))


def boot_data(
    section: Mapping[str, Any], vmid: int, resolver: Resolver, custom: Mapping[str, str] | None = None
) -> BootData:
    """All parts; those that a user keeps in files of their own come from there."""
    given = custom or {}
    user = given.get("user") if "user" in given else user_data(section, vmid)
    network = given.get("network") if "network" in given else network_data(section, resolver)
    user, network = user or "", network or ""
    meta = given.get("meta") or meta_data(section, user, network)
    label = "cidata" if form(section) == "nocloud" else "config-2"
    return BootData(user, network, meta, given.get("vendor", ""), label)


def _resolving(section: Mapping[str, Any], resolver: Resolver) -> tuple[list[str], list[str]]:
    servers = section.get("nameserver")
    search = str(section.get("searchdomain") or resolver.search).split()
    return search, list(resolver.servers) if servers is None else str(servers).split()


def _devices(section: Mapping[str, Any]) -> list[tuple[int, str, dict[str, str]]]:
    found = []
    for name, parts in sorted(networks_of(dict(section)).items()):
        number = int(name.removeprefix("net"))
        if wanted := section.get(f"ipconfig{number}"):
            found.append((number, str(parts.get("macaddr", "")).lower(), address_family(str(wanted))))
    return found


def _split(network: str) -> tuple[str, str]:
    """Address and mask. The word `manual` passes for an address where options are verified, and fails here."""
    address, slash, _ = network.partition("/")
    if not slash:
        raise Failure(f"not a CIDR: {network}\n")
    return address, str(ipaddress.ip_interface(network).netmask)


def _version_1(section: Mapping[str, Any], resolver: Resolver) -> str:
    lines = ["version: 1", "config:"]
    for number, mac, wanted in _devices(section):
        lines += [
            "    - type: physical",
            f"      name: eth{number}",
            f"      mac_address: '{mac}'",
            "      subnets:",
        ]
        if ip := wanted.get("ip"):
            if ip == "dhcp":
                lines.append("      - type: dhcp4")
            else:
                address, mask = _split(ip)
                lines += [
                    "      - type: static",
                    f"        address: '{address}'",
                    f"        netmask: '{mask}'",
                ]
                if gateway := wanted.get("gw"):
                    lines.append(f"        gateway: '{gateway}'")
        if ip6 := wanted.get("ip6"):
            if ip6 == "dhcp":
                lines.append("      - type: dhcp6")
            elif ip6 == "auto":
                lines.append("      - type: ipv6_slaac")
            else:
                lines += ["      - type: static6", f"        address: '{ip6}'"]
                if gateway := wanted.get("gw6"):
                    lines.append(f"        gateway: '{gateway}'")
    search, servers = _resolving(section, resolver)
    lines.append("    - type: nameserver")
    if servers:
        lines += ["      address:", *(f"      - '{server}'" for server in servers)]
    if search:
        lines += ["      search:", *(f"      - '{domain}'" for domain in search)]
    return "".join(f"{line}\n" for line in lines)


def _interfaces(section: Mapping[str, Any], resolver: Resolver) -> str:
    lines = ["auto lo", "iface lo inet loopback", ""]
    search, servers = _resolving(section, resolver)
    if servers:
        lines.append(f"        dns_nameservers {' '.join(servers)}")
    if search:
        lines.append(f"        dns_search {' '.join(search)}")
    for number, _, wanted in _devices(section):
        lines.append(f"auto eth{number}")
        for family, key, gateway in (("inet", "ip", "gw"), ("inet6", "ip6", "gw6")):
            address = wanted.get(key)
            if address in ("dhcp", "auto"):
                lines.append(f"iface eth{number} {family} {address}")
            elif address:
                plain, _, length = address.partition("/")
                mask = _split(address)[1] if family == "inet" else length
                lines += [
                    f"iface eth{number} {family} static",
                    f"        address {plain}",
                    f"        netmask {mask}",
                ]
                if wanted.get(gateway):
                    lines.append(f"        gateway {wanted[gateway]}")
    return "".join(f"{line}\n" for line in lines)
