"""The network as units of systemd-networkd, for guests that Ignition sets up; content as CAPMOX has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from nagaya.infrastructure.proxmox.boot.network import Network, Nic, Route, RoutingPolicy, UnusableNetwork, Vrf

_DHCP: Final = {(True, True): "yes", (True, False): "ipv4", (False, True): "ipv6"}

_Line = tuple[str, str | int | None]


def units(network: Network) -> Mapping[str, str]:
    """The units by their file names. Routing domains are made before the devices that are in them."""
    made: dict[str, str] = {}
    domain = {member: vrf.name for vrf in network.vrfs for member in network.members(vrf)}
    for number, vrf in enumerate(network.vrfs):
        made[f"{number:02}-vrf{number}.netdev"] = _text(
            [("NetDev", [("Name", vrf.name), ("Kind", "vrf")]), ("VRF", [("Table", vrf.table)])]
        )
    for number, nic in enumerate(network.nics):
        made[f"{number:02}-eth{number}.network"] = _text(_ethernet(nic, domain.get(f"eth{number}")))
    for number, vrf in enumerate(network.vrfs, len(network.nics)):
        made[f"{number:02}-vrf{number}.network"] = _text(_vrf(vrf))
    return made


def _ethernet(nic: Nic, domain: str | None) -> Iterator[tuple[str, list[_Line]]]:
    yield "Match", [("MACAddress", nic.mac)]
    if nic.guest_mtu is not None:
        yield "Link", [("MTUBytes", nic.guest_mtu)]
    lines: list[_Line] = [("VRF", domain), ("DHCP", _DHCP.get((nic.dhcp4, nic.dhcp6)))]
    lines += [("DNS", server) for server in nic.dns_servers]
    lines += [("Domains", " ".join(nic.dns_search) or None)]
    yield "Network", lines
    if not nic.dhcp_routes:
        for section, used in (("DHCPv4", nic.dhcp4), ("IPv6AcceptRA", nic.dhcp6)):
            if used:
                yield section, [("UseRoutes" if section == "DHCPv4" else "UseGateway", "false")]
    for each in nic.addresses:
        yield "Address", [("Address", str(each.address))]
    yield from _routing(nic.all_routes, nic.policies, None)


def _vrf(vrf: Vrf) -> Iterator[tuple[str, list[_Line]]]:
    yield "Match", [("Name", vrf.name)]
    yield from _routing(vrf.routes, vrf.policies, vrf.table)


def _routing(
    routes: Iterable[Route], policies: Iterable[RoutingPolicy], table: int | None
) -> Iterator[tuple[str, list[_Line]]]:
    for route in routes:
        via = None if route.via is None else str(route.via)
        yield (
            "Route",
            [("Destination", str(route.to)), ("Gateway", via), ("Metric", route.metric), ("Table", route.table)],
        )
    for policy in policies:
        to = None if policy.to is None else str(policy.to)
        source = None if policy.source is None else str(policy.source)
        number = policy.table if policy.table is not None else table
        yield "RoutingPolicyRule", [("To", to), ("From", source), ("Priority", policy.priority), ("Table", number)]


def _text(sections: Iterable[tuple[str, list[_Line]]]) -> str:
    written: list[str] = []
    for section, lines in sections:
        written.append(f"[{section}]\n")
        for key, value in lines:
            if value is None:
                continue
            if any(not character.isprintable() for character in str(value)):
                # Units have no way to write these: a line break would begin another setting.
                raise UnusableNetwork(f"{key} of the network has a character that cannot be written: {value!r}")
            written.append(f"{key}={value}\n")
    return "".join(written)
