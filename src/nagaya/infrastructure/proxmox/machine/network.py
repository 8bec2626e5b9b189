"""The network devices of a machine: which claims for addresses they need, and what the guest is told of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface
from typing import Final

from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.proxmox.addresses import DEFAULT_METRIC, DEFAULT_ZONE, DHCP, STATIC
from nagaya.api.proxmox.network import DEFAULT_DEVICE, NetworkDevice
from nagaya.api.proxmox.network import Route as RouteSpec
from nagaya.api.proxmox.network import RoutingPolicy as PolicySpec
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.api.proxmox.references import POOL_GROUP, PoolReference
from nagaya.infrastructure.proxmox.boot.network import Address, Network, Nic, Route, RoutingPolicy, Vrf, destination
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.machine.hardware import mac_of

IN_CLUSTER: Final = "InClusterIPPool"


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
    """The devices, each with its name. A machine that says nothing has one, as in its template."""
    network = machine.spec.network
    given = network.network_devices if network is not None else ()
    return given or (NetworkDevice(name=DEFAULT_DEVICE),)


def name_of(device: NetworkDevice) -> str:
    """The name of a device."""
    return device.name or DEFAULT_DEVICE


def addressing(device: NetworkDevice, infrastructure: ProxmoxCluster) -> str:
    """Where a device has its addresses from."""
    return device.addressing or infrastructure.spec.addressing or STATIC


def claims(machine: ProxmoxMachine, infrastructure: ProxmoxCluster) -> tuple[WantedClaim, ...] | str:
    """The claims of all devices, or why they cannot be told yet."""
    zone = (machine.spec.network.zone if machine.spec.network is not None else "") or DEFAULT_ZONE
    pools = next(
        (each for each in infrastructure.status.in_cluster_zone_ref if (each.zone or DEFAULT_ZONE) == zone), None
    )
    wanted: list[WantedClaim] = []
    all_devices = devices(machine)
    for number, device in enumerate(all_devices):
        if addressing(device, infrastructure) != STATIC:
            continue
        own: list[tuple[PoolReference, bool, int | None]] = []
        for family, ref in (
            ("default_ipv4", pools.in_cluster_ip_pool_ref_v4 if pools else None),
            ("default_ipv6", pools.in_cluster_ip_pool_ref_v6 if pools else None),
        ):
            if ref is not None and _is_default(device, number, all_devices, family):
                pool = PoolReference(api_group=POOL_GROUP, kind=IN_CLUSTER, name=ref.name)
                own.append((pool, True, _metric(infrastructure, zone, family)))
        own += [(each, False, DEFAULT_METRIC + 1 + number) for each in device.ip_pool_ref]
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


def _metric(infrastructure: ProxmoxCluster, zone: str, family: str) -> int:
    spec = infrastructure.spec
    config = spec.ipv4_config if family == "default_ipv4" else spec.ipv6_config
    for each in spec.zone_config:
        if each.zone == zone:
            config = each.ipv4_config if family == "default_ipv4" else each.ipv6_config
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
                routes=tuple(_route(each) for each in device.routes),
                policies=tuple(_policy(each) for each in device.routing_policy),
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
                tuple(_route(route) for route in each.routes),
                tuple(_policy(policy) for policy in each.routing_policy),
            )
            for each in vrfs
        ),
    )


def _route(spec: RouteSpec) -> Route:
    via = ip_address(spec.via) if spec.via else None
    is6 = bool(spec.is6) or (via is not None and via.version == 6)
    return Route(destination(spec.to, is6=is6), via, spec.metric, spec.table)


def _policy(spec: PolicySpec) -> RoutingPolicy:
    is6 = bool(spec.is6)
    return RoutingPolicy(
        destination(spec.to, is6=is6) if spec.to else None,
        destination(spec.from_, is6=is6) if spec.from_ else None,
        spec.priority,
        spec.table,
    )
