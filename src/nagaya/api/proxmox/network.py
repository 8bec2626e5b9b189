"""The network devices of a VM, and how the guest uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

import msgspec

from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.addresses import DHCP, NO_ADDRESS, STATIC, DnsServers
from nagaya.api.proxmox.formats import MAC_ADDRESS, NET_NAME, NetName
from nagaya.api.proxmox.references import PoolReference

DEFAULT_DEVICE: Final = "net0"
DEFAULT_MODEL: Final = "virtio"
MODELS: Final = ("e1000", "virtio", "rtl8139", "vmxnet3")
LARGEST_TABLE: Final = 4294967295
_MTU_RULE: Final = rule("self == 1 || (self >= 576 && self <= 65520)", "invalid MTU value")


class Route(Model):
    """A route of the guest."""

    to: Annotated[str, doc("The network that the route leads to; default for all.", maxLength=100)] = ""
    via: Annotated[str, doc("The gateway.", maxLength=100)] = ""
    metric: Annotated[int | None, doc("How dear the route is; the cheapest is taken.", minimum=0)] = None
    table: Annotated[int | None, doc("The routing table that the route is in.")] = None
    is6: Annotated[
        bool | None,
        doc("Whether the route is one of IPv6. It is needed where neither address tells: default without a gateway."),
    ] = None


class RoutingPolicy(Model):
    """A rule by which the guest chooses a routing table."""

    to: Annotated[str, doc("Packets to this network are meant.", maxLength=100)] = ""
    from_: Annotated[str, doc("Packets from this network are meant.", maxLength=100)] = msgspec.field(
        default="", name="from"
    )
    table: Annotated[int | None, doc("The routing table that they are sent by.")] = None
    priority: Annotated[
        int | None,
        doc(
            "The place of the rule among the others; lower ones are asked first.",
            format="int64",
            maximum=4294967295,
            rules=[
                rule(
                    "(self > 0 && self < 32765) || (self > 32766)",
                    "Cowardly refusing to insert FIB rule matching kernel rules",
                )
            ],
        ),
    ] = None
    is6: Annotated[bool | None, doc("Whether the rule is one of IPv6. It is needed where neither network tells.")] = (
        None
    )


Routes = Annotated[tuple[Route, ...], doc("The routes of the device.", minItems=1, maxItems=64, list_type="atomic")]
RoutingPolicies = Annotated[
    tuple[RoutingPolicy, ...],
    doc("The rules that choose routing tables.", minItems=1, maxItems=64, list_type="atomic"),
]


class Vrf(Model):
    """A routing domain of the guest, with devices of its own."""

    interfaces: Annotated[
        tuple[NetName, ...], doc("The network devices that are in it.", maxItems=32, list_type="atomic")
    ] = ()
    name: Annotated[str, doc("How it is called in the guest.", minLength=3, maxLength=15)]
    table: Annotated[
        int,
        doc(
            "Its routing table.",
            format="int64",
            minimum=1,
            maximum=LARGEST_TABLE,
            rules=[
                rule(
                    "(self > 0 && self < 254) || (self > 255)",
                    "Cowardly refusing to insert l3mdev rules into kernel tables",
                )
            ],
        ),
    ]
    routes: Annotated[Routes, doc("The routes of it.")] = ()
    routing_policy: Annotated[RoutingPolicies, doc("The rules that choose its routing table.")] = ()


class NetworkDevice(Model):
    """A network device of the VM."""

    name: Annotated[
        str,
        doc(
            "Which device it is: net0, net1, and so on, without gaps.",
            minLength=4,
            maxLength=5,
            pattern=NET_NAME,
            default=DEFAULT_DEVICE,
            required=False,
        ),
    ] = ""
    bridge: Annotated[
        str, doc("The bridge or virtual network that it is plugged into.", minLength=1, maxLength=100)
    ] = ""
    default_ipv4: Annotated[
        bool | None, doc("Whether it has the cluster's IPv4 addresses and the default route. net0 does if none does.")
    ] = msgspec.field(default=None, name="defaultIPv4")
    default_ipv6: Annotated[
        bool | None, doc("Whether it has the cluster's IPv6 addresses and the default route. net0 does if none does.")
    ] = msgspec.field(default=None, name="defaultIPv6")
    model: Annotated[
        str | None, doc("What the guest takes the device for.", enum=list(MODELS), default=DEFAULT_MODEL)
    ] = None
    mtu: Annotated[int | None, doc("The largest packet, in bytes. 1 is that of the bridge.", rules=[_MTU_RULE])] = None
    vlan: Annotated[int | None, doc("The VLAN that the device is in.", minimum=1, maximum=4094)] = None
    queues: Annotated[
        int | None, doc("How many queues a virtio device has, at best one for each core.", minimum=1, maximum=64)
    ] = None
    ip_pool_ref: Annotated[
        tuple[PoolReference, ...],
        doc("The pools that the device gets an address from, one of each.", maxItems=16, list_type="atomic"),
    ] = ()
    dns_servers: Annotated[
        DnsServers, doc("The name servers to ask by this device. Those of the cluster if left out.")
    ] = ()
    routes: Annotated[Routes, doc("The routes of the device.")] = ()
    routing_policy: Annotated[RoutingPolicies, doc("The rules that choose its routing tables.")] = ()
    link_mtu: Annotated[int | None, doc("The largest packet in the guest, in bytes.", rules=[_MTU_RULE])] = None
    addressing: Annotated[
        str | None,
        doc(
            "Where its addresses come from. static: from the pools of the cluster and of ipPoolRef. dhcp: from the "
            "network; they are read back from the guest agent. none: it has none. What the cluster says if left out, "
            "and there it is static.",
            enum=[STATIC, DHCP, NO_ADDRESS],
        ),
    ] = None
    mac_address: Annotated[
        str,
        doc(
            "The hardware address. Proxmox VE chooses one if left out. All machines of a template would have the same "
            "one, so templates have deriveMacAddress instead.",
            minLength=17,
            maxLength=17,
            pattern=MAC_ADDRESS,
        ),
    ] = ""
    derive_mac_address: Annotated[
        bool | None,
        doc(
            "Whether the hardware address is made from the name of the machine and that of the device. A machine that "
            "is made again under its name has the same one, so a reservation in a DHCP server stays right.",
        ),
    ] = None


class NetworkSpec(Model):
    """The network of a VM."""

    zone: Annotated[
        str, doc("The zone that the machine is in, one of the cluster's zoneConfig.", minLength=1, maxLength=63)
    ] = ""
    network_devices: Annotated[
        tuple[NetworkDevice, ...],
        doc("The network devices.", maxItems=32, list_type="map", list_map_keys=["name"]),
    ]
    vrfs: Annotated[
        tuple[Vrf, ...],
        doc("Routing domains of the guest.", maxItems=32, list_type="map", list_map_keys=["name"]),
    ] = ()


class NetworkStatus(Model):
    """A network device as the VM has it."""

    __schema__: ClassVar[Mapping[str, Any]] = {"required": ["macAddr"]}

    connected: Annotated[bool | None, doc("Whether it is plugged in.")] = None
    ip_addrs: Annotated[
        tuple[str, ...], doc("The addresses that the guest has there.", maxItems=256, list_type="set")
    ] = ()
    mac_addr: Annotated[str, doc("Its hardware address.")] = ""
    network_name: Annotated[str, doc("Which device it is.")] = ""
