"""The network as netplan has it (network-config version 2), with the content that CAPMOX gives its machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from nagaya.infrastructure.proxmox.boot.network import IPAddress, IPInterface, Network, Nic, Route, RoutingPolicy


def network_config(network: Network) -> bytes:
    """The file network-config."""
    content: dict[str, Any] = {"version": 2, "renderer": "networkd"}
    ethernets = {f"eth{number}": _ethernet(nic) for number, nic in enumerate(network.nics)}
    if ethernets:
        content["ethernets"] = ethernets
    if network.vrfs:
        content["vrfs"] = {
            vrf.name: {
                "table": vrf.table,
                **_routing(vrf.routes, vrf.policies),
                **({"interfaces": list(network.members(vrf))} if vrf.devices else {}),
            }
            for vrf in network.vrfs
        }
    return yaml.safe_dump({"network": content}, sort_keys=False).encode()


def _ethernet(nic: Nic) -> dict[str, Any]:
    # Proxmox VE has hardware addresses in capitals; netplan wants small letters.
    content: dict[str, Any] = {"match": {"macaddress": nic.mac.lower()}, "dhcp4": nic.dhcp4, "dhcp6": nic.dhcp6}
    if not nic.dhcp_routes:
        content |= {
            f"dhcp{version}-overrides": {"use-routes": False}
            for version, used in ((4, nic.dhcp4), (6, nic.dhcp6))
            if used
        }
    if nic.addresses:
        content["addresses"] = [str(each.address) for each in nic.addresses]
    content |= _routing(nic.all_routes, nic.policies)
    if nic.dns_servers:
        content["nameservers"] = {"addresses": list(nic.dns_servers)}
        if nic.dns_search:
            content["nameservers"]["search"] = list(nic.dns_search)
    if nic.guest_mtu is not None:
        content["mtu"] = nic.guest_mtu
    return content


def _routing(routes: Iterable[Route], policies: Iterable[RoutingPolicy]) -> dict[str, Any]:
    content = {
        "routes": [_given(to=each.to, via=each.via, metric=each.metric, table=each.table) for each in routes],
        "routing-policy": [
            _given(**{"to": each.to, "from": each.source, "priority": each.priority, "table": each.table})
            for each in policies
        ],
    }
    return {name: listed for name, listed in content.items() if listed}


def _given(**values: IPInterface | IPAddress | int | None) -> dict[str, str | int]:
    return {
        name: value if isinstance(value, int) else str(value) for name, value in values.items() if value is not None
    }
