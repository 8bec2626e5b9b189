"""What a guest is told about its network, independent of the form in which it is told.

Addresses are parsed before they come here, so that nothing malformed can be told to a guest. Names and search domains
are free text; each form puts them where they cannot be taken for anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv6Address,
    IPv6Interface,
    ip_interface,
)
from typing import Final

SMALLEST_MTU: Final = 576
"""Less than that is not a size: 1 stands for that of the bridge."""
_EVERYWHERE: Final = {4: ip_interface("0.0.0.0/0"), 6: ip_interface("::/0")}
_ALL: Final = ("default", "all")

IPAddress = IPv4Address | IPv6Address
IPInterface = IPv4Interface | IPv6Interface
"""An address with the size of its network. Networks are written so too, as people write them: 172.16.24.1/24."""


class UnusableNetwork(ValueError):
    """A network that no guest could have; the message says why."""


def is_everywhere(text: str) -> bool:
    """Whether text names no network but all of them, of a family that it does not tell."""
    return text in _ALL


def destination(text: str, *, is6: bool = False) -> IPInterface:
    """Where a route leads to: a network, or all of them for `default` and `all`."""
    if is_everywhere(text):
        return _EVERYWHERE[6 if is6 else 4]
    return ip_interface(text)


@dataclass(frozen=True, slots=True)
class Address:
    """A fixed address of a device."""

    address: IPInterface
    gateway: IPAddress | None = None
    """If there is one, it leads everywhere."""
    metric: int | None = None
    default: bool = False
    """Whether it is the one that the machine is known by."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route. `via` None: what it leads to is there without a gateway."""

    to: IPInterface
    via: IPAddress | None = None
    metric: int | None = None
    table: int | None = None


@dataclass(frozen=True, slots=True)
class RoutingPolicy:
    """A rule by which the guest chooses a routing table."""

    to: IPInterface | None = None
    source: IPInterface | None = None
    priority: int | None = None
    table: int | None = None


@dataclass(frozen=True, slots=True)
class Nic:
    """A network device, found in the guest by its hardware address."""

    device: str
    """What it is called in Proxmox VE: net0, net1 and so on."""
    mac: str
    addresses: tuple[Address, ...] = ()
    dhcp4: bool = False
    dhcp6: bool = False
    dhcp_routes: bool = True
    """Whether routes from DHCP are taken, the default route above all."""
    dns_servers: tuple[str, ...] = ()
    dns_search: tuple[str, ...] = ()
    """Only with name servers: where cloud-init writes the network itself, it fails on search domains alone."""
    mtu: int | None = None
    routes: tuple[Route, ...] = ()
    policies: tuple[RoutingPolicy, ...] = ()

    @property
    def all_routes(self) -> tuple[Route, ...]:
        """The routes with those of the gateways, which come first."""
        gateways = [
            Route(_EVERYWHERE[each.gateway.version], each.gateway, each.metric)
            for each in self.addresses
            if each.gateway is not None
        ]
        return (*gateways, *self.routes)

    @property
    def guest_mtu(self) -> int | None:
        return self.mtu if self.mtu is not None and self.mtu >= SMALLEST_MTU else None


@dataclass(frozen=True, slots=True)
class Vrf:
    """A routing domain of the guest."""

    name: str
    table: int
    devices: tuple[str, ...] = ()
    """As Proxmox VE or the guest calls them: net1 or eth1."""
    routes: tuple[Route, ...] = ()
    policies: tuple[RoutingPolicy, ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """The network of a guest. Device number N is ethN there."""

    nics: tuple[Nic, ...]
    vrfs: tuple[Vrf, ...] = ()

    def __post_init__(self) -> None:
        for vrf in self.vrfs:
            self.members(vrf)
        _check_routes(self._tables())
        for nic in self.nics:
            if not nic.mac:
                raise UnusableNetwork(f"{nic.device} has no hardware address, so the guest could not find it")
            if nic.dns_search and not nic.dns_servers:
                raise UnusableNetwork(f"{nic.device} has search domains and no name servers: give name servers too")
            _check_policies(nic.device, nic.policies, table_needed=True)
        for vrf in self.vrfs:
            _check_policies(vrf.name, vrf.policies, table_needed=False)

    def _tables(self) -> Iterator[tuple[int, Route]]:
        """All routes, each with the table that it is in. Those of devices in a routing domain are in that of the
        domain."""
        of_device = {member: vrf.table for vrf in self.vrfs for member in self.members(vrf)}
        for number, nic in enumerate(self.nics):
            for route in nic.all_routes:
                yield route.table or of_device.get(f"eth{number}", 0), route
        for vrf in self.vrfs:
            for route in vrf.routes:
                yield route.table or vrf.table, route

    def members(self, vrf: Vrf) -> tuple[str, ...]:
        """The devices of a routing domain as the guest calls them."""
        names = {nic.device: f"eth{number}" for number, nic in enumerate(self.nics)}
        names |= {name: name for name in names.values()}
        unknown = [each for each in vrf.devices if each not in names]
        if unknown:
            raise UnusableNetwork(f"{vrf.name} is to have {', '.join(unknown)}, and there is no such device")
        return tuple(names[each] for each in vrf.devices)

    @property
    def leads_out(self) -> bool:
        """Whether there is a way to everywhere, or may be one by DHCP. A machine without one pulls no images."""
        if any((nic.dhcp4 or nic.dhcp6) and nic.dhcp_routes for nic in self.nics):
            return True
        routes = [route for nic in self.nics for route in nic.all_routes]
        routes += [route for vrf in self.vrfs for route in vrf.routes]
        return any(route.to.network.prefixlen == 0 for route in routes)


def _check_routes(routes: Iterable[tuple[int, Route]]) -> None:
    """Two routes of one table to the same place at the same price: which one is taken would be chance."""
    seen: set[tuple[str, int, int]] = set()
    for table, route in routes:
        key = (str(route.to), route.metric or 0, table)
        if key in seen:
            raise UnusableNetwork(
                f"two routes to {route.to} have the metric {route.metric or 0}: give one of them another"
            )
        seen.add(key)


def _check_policies(name: str, policies: Iterable[RoutingPolicy], *, table_needed: bool) -> None:
    for policy in policies:
        if policy.to is None and policy.source is None:
            raise UnusableNetwork(f"a routing policy of {name} has neither `to` nor `from`")
        if table_needed and not policy.table:
            raise UnusableNetwork(f"a routing policy of {name} has no table")
