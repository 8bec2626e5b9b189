"""Addresses of machines: those that their boot data names, or what a router hands out to the others.

A device gets the same address each time it asks, as it would from a router that remembers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, Protocol

import yaml

from nagaya.wire import bounded_yaml

FIRST = 50
"""The first number that a router hands out in a network."""


class Leases(Protocol):
    """Whoever hands out addresses."""

    def lease(self, mac: str) -> str:
        """The address of a device, with the length of the network's prefix."""


class Router:
    """Hands out addresses."""

    def __init__(self, network: str = "192.0.2.0/24") -> None:
        self._network = ipaddress.IPv4Network(network)
        self._leases: dict[str, str] = {}

    def lease(self, mac: str) -> str:
        """The address of a device, with the length of the network's prefix."""
        if mac not in self._leases:
            number = (FIRST + len(self._leases)) % self._network.num_addresses
            self._leases[mac] = f"{self._network[number]}/{self._network.prefixlen}"
        return self._leases[mac]


def configured(network: str, devices: Mapping[str, str], router: Leases) -> dict[str, tuple[str, list[str]]]:
    """Names and addresses of devices, given with their hardware addresses, by what boot data says of the network.

    Without boot data each device asks the router. Data that cannot be read is as good as none.
    """
    try:
        data = bounded_yaml.load(network) if network.strip() else None
    except yaml.YAMLError:
        data = None
    if isinstance(data, dict) and isinstance(data.get("network"), dict):
        data = data["network"]
    if not isinstance(data, dict):
        return {name: (f"eth{number}", [router.lease(mac)]) for number, (name, mac) in enumerate(devices.items())}
    wanted = _version_2(data) if data.get("version") == 2 else _version_1(data)
    found: dict[str, tuple[str, list[str]]] = {}
    for number, (name, mac) in enumerate(devices.items()):
        shown, addresses = wanted.get(mac.lower(), (f"eth{number}", []))
        found[name] = shown, [router.lease(mac) if address == "dhcp" else address for address in addresses]
    return found


def _version_1(data: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for device in data.get("config") or []:
        if not isinstance(device, dict) or not device.get("mac_address"):
            continue
        addresses: list[str] = []
        for subnet in device.get("subnets") or []:
            kind, address = str(subnet.get("type", "")), str(subnet.get("address", ""))
            if kind in ("dhcp", "dhcp4"):
                addresses.append("dhcp")
            elif address and "/" not in address and subnet.get("netmask"):
                addresses.append(str(ipaddress.ip_interface(f"{address}/{subnet['netmask']}")))
            elif address:
                addresses.append(address)
        found[str(device["mac_address"]).lower()] = str(device.get("name") or "eth0"), addresses
    return found


def _version_2(data: Mapping[str, Any]) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for name, device in (data.get("ethernets") or {}).items():
        match = device.get("match") or {} if isinstance(device, dict) else {}
        mac = match.get("macaddress") or (device.get("macaddress") if isinstance(device, dict) else None)
        if not mac:
            continue
        addresses = ["dhcp"] if device.get("dhcp4") else []
        addresses += [
            str(next(iter(each))) if isinstance(each, dict) else str(each) for each in device.get("addresses") or []
        ]
        found[str(mac).lower()] = str(device.get("set-name") or name), addresses
    return found
