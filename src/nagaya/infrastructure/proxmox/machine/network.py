"""The network devices of a machine: which claims for addresses they need, and what the guest is told of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from itertools import count
from typing import Final

from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.proxmox.addresses import DEFAULT_METRIC, DEFAULT_ZONE, DHCP, STATIC
from nagaya.api.proxmox.network import DEFAULT_DEVICE, NetworkDevice
from nagaya.api.proxmox.network import Route as RouteSpec
from nagaya.api.proxmox.network import RoutingPolicy as PolicySpec
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.api.proxmox.references import POOL_GROUP, PoolReference
from nagaya.infrastructure.proxmox.boot.network import (
    Address,
    IPInterface,
    Network,
    Nic,
    Route,
    RoutingPolicy,
    UnusableNetwork,
    Vrf,
    destination,
    is_everywhere,
)
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.hardware import mac_of

IN_CLUSTER: Final = "InClusterIPPool"
NO_METRICS: Final[Mapping[tuple[str, str], int]] = {}
_IPV4: Final = "default_ipv4"
_IPV6: Final = "default_ipv6"
_FAMILIES: Final = (_IPV4, _IPV6)


@dataclass(frozen=True, slots=True)
class WantedClaim:
    """A claim that a device needs."""

    name: str
    device: str
    pool: PoolReference
    default: bool
    """Whether it is of the cluster's own pool: the machine is known by this address."""
    metric: int | None = None


def devices(machine: ProxmoxMachine) -> tuple[NetworkDevice, ...]:
    """The devices in the order of their names, in which the guest counts them. A machine that says nothing has one, as
    in its template."""
    network = machine.spec.network
    given = network.network_devices if network is not None else ()
    return tuple(sorted(given, key=_place)) or (NetworkDevice(name=DEFAULT_DEVICE),)


def name_of(device: NetworkDevice) -> str:
    """The name of a device."""
    return device.name or DEFAULT_DEVICE


def _place(device: NetworkDevice) -> int:
    return int(name_of(device).removeprefix("net"))


def addressing(device: NetworkDevice, infrastructure: ProxmoxCluster) -> str:
    """Where a device has its addresses from."""
    return device.addressing or infrastructure.spec.addressing or STATIC


def claims(
    machine: ProxmoxMachine, infrastructure: ProxmoxCluster, metrics: Mapping[tuple[str, str], int] = NO_METRICS
) -> tuple[WantedClaim, ...] | str:
    """The claims of all devices, or why they cannot be told yet. `metrics` are those that pools of ipPoolRef have, by
    kind and name: the price of the default route through their gateway."""
    zone = (machine.spec.network.zone if machine.spec.network is not None else "") or DEFAULT_ZONE
    pools = next(
        (each for each in infrastructure.status.in_cluster_zone_ref if (each.zone or DEFAULT_ZONE) == zone), None
    )
    if pools is None and zone not in (DEFAULT_ZONE, *(each.zone for each in infrastructure.spec.zone_config)):
        known = ", ".join(each.zone for each in infrastructure.spec.zone_config) or "none"
        return (
            f"network.zone of the machine is {zone}, and zoneConfig of ProxmoxCluster {infrastructure.metadata.name} "
            f"has no such zone (it has {known}). Add it there, or make the machine from a template with another zone."
        )
    wanted: list[WantedClaim] = []
    taken = {*metrics.values(), *(_metric(infrastructure, zone, family) for family in _FAMILIES)}
    all_devices = devices(machine)
    for number, device in enumerate(all_devices):
        if addressing(device, infrastructure) != STATIC:
            continue
        own: list[tuple[PoolReference, bool, int | None]] = []
        for family, ref in (
            (_IPV4, pools.in_cluster_ip_pool_ref_v4 if pools else None),
            (_IPV6, pools.in_cluster_ip_pool_ref_v6 if pools else None),
        ):
            if ref is not None and _is_default(device, number, all_devices, family):
                pool = PoolReference(api_group=POOL_GROUP, kind=IN_CLUSTER, name=ref.name)
                own.append((pool, True, _metric(infrastructure, zone, family)))
        for named in device.ip_pool_ref:
            fixed = metrics.get((named.kind, named.name))
            own.append((named, False, _free_price(DEFAULT_METRIC + 1 + number, taken) if fixed is None else fixed))
        if not own and pools is None and number == 0:
            return f"ProxmoxCluster {infrastructure.metadata.name} has no pools of addresses for zone {zone} yet."
        wanted += [
            WantedClaim(
                f"{machine.metadata.name}-{name_of(device)}-{offset}-inet", name_of(device), pool, default, metric
            )
            for offset, (pool, default, metric) in enumerate(own)
        ]
    return tuple(wanted)


def _is_default(device: NetworkDevice, number: int, all_devices: tuple[NetworkDevice, ...], family: str) -> bool:
    if any(getattr(each, family) for each in all_devices):
        return bool(getattr(device, family))
    return number == 0


def _free_price(first: int, taken: set[int]) -> int:
    """Two default routes at one price: which is taken would be chance."""
    price = next(each for each in count(first) if each not in taken)
    taken.add(price)
    return price


def _metric(infrastructure: ProxmoxCluster, zone: str, family: str) -> int:
    spec = infrastructure.spec
    config = spec.ipv4_config if family == _IPV4 else spec.ipv6_config
    for each in spec.zone_config:
        if each.zone == zone:
            config = each.ipv4_config if family == _IPV4 else each.ipv6_config
    return DEFAULT_METRIC if config is None or config.metric is None else config.metric


def name_servers(machine: ProxmoxMachine, device: NetworkDevice, infrastructure: ProxmoxCluster) -> tuple[str, ...]:
    """Those of the device, else of its zone, else of the cluster."""
    zone = machine.spec.network.zone if machine.spec.network is not None else ""
    of_zone = next((each.dns_servers for each in infrastructure.spec.zone_config if each.zone == zone), ())
    return device.dns_servers or of_zone or infrastructure.spec.dns_servers


def guest_network(
    machine: ProxmoxMachine,
    infrastructure: ProxmoxCluster,
    wanted: tuple[WantedClaim, ...],
    given: Mapping[str, IPAddress],
    config: MachineConfig,
) -> Network:
    """What the guest is told. Raises UnusableNetwork or ValueError with a sentence."""
    nics: list[Nic] = []
    for number, device in enumerate(devices(machine)):
        name = name_of(device)
        dhcp = addressing(device, infrastructure) == DHCP
        nics.append(
            Nic(
                name,
                mac_of(config, name),
                tuple(
                    Address(
                        ip_interface(f"{given[each.name].spec.address}/{given[each.name].spec.prefix}"),
                        ip_address(gateway) if (gateway := given[each.name].spec.gateway) else None,
                        each.metric,
                        each.default,
                    )
                    for each in wanted
                    if each.device == name
                ),
                dhcp4=dhcp,
                dhcp6=dhcp,
                dhcp_routes=number == 0 or bool(device.default_ipv4 or device.default_ipv6),
                dns_servers=() if dhcp and not device.dns_servers else name_servers(machine, device, infrastructure),
                mtu=device.link_mtu or device.mtu,
                routes=tuple(_route(each, name) for each in device.routes),
                policies=tuple(_policy(each, name) for each in device.routing_policy),
            )
        )
    vrfs = machine.spec.network.vrfs if machine.spec.network is not None else ()
    return Network(
        tuple(nics),
        tuple(
            Vrf(
                each.name,
                each.table,
                each.interfaces,
                tuple(_route(route, each.name) for route in each.routes),
                tuple(_policy(policy, each.name) for policy in each.routing_policy),
            )
            for each in vrfs
        ),
    )


def _route(spec: RouteSpec, holder: str) -> Route:
    if not spec.to:
        raise UnusableNetwork(f"a route of {holder} does not say where `to`; `default` is everywhere")
    via = _address(spec.via, f"routes[].via of {holder}") if spec.via else None
    is6 = bool(spec.is6) or (via is not None and via.version == 6)
    return Route(_network(spec.to, f"routes[].to of {holder}", is6=is6), via, spec.metric, spec.table)


def _policy(spec: PolicySpec, holder: str) -> RoutingPolicy:
    # What is everywhere has the family of the other end, if that tells one.
    named = next((each for each in (spec.to, spec.from_) if each and not is_everywhere(each)), "")
    is6 = ":" in named if named else bool(spec.is6)
    return RoutingPolicy(
        _network(spec.to, f"routingPolicy[].to of {holder}", is6=is6) if spec.to else None,
        _network(spec.from_, f"routingPolicy[].from of {holder}", is6=is6) if spec.from_ else None,
        spec.priority,
        spec.table,
    )


def _network(text: str, field: str, *, is6: bool) -> IPInterface:
    try:
        return destination(text, is6=is6)
    except ValueError as error:
        raise UnusableNetwork(f"{field}: {error}") from error


def _address(text: str, field: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise UnusableNetwork(f"{field}: {error}") from error
