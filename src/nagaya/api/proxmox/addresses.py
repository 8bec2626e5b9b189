"""Where machines get their addresses from, if nobody else gives them any."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.formats import DnsServer

STATIC: Final = "static"
DHCP: Final = "dhcp"
NO_ADDRESS: Final = "none"
DEFAULT_METRIC: Final = 100
DEFAULT_ZONE: Final = "default"
METRIC_ANNOTATION: Final = "metric"
"""Of a pool: how dear the default route through its gateway is."""

SOME_IPV4_ADDRESSES: Final = rule("self.addresses.size() > 0", "IPv4Config addresses must be provided")
SOME_IPV6_ADDRESSES: Final = rule("self.addresses.size() > 0", "IPv6Config addresses must be provided")

DnsServers = Annotated[
    tuple[DnsServer, ...],
    doc("The name servers of the machines.", minItems=1, maxItems=16, list_type="set"),
]


class IPConfig(Model):
    """Addresses for machines, and how they get out of their network."""

    addresses: Annotated[
        tuple[Annotated[str, doc("An address, a range such as 10.0.0.2-10.0.0.9, or a network.", maxLength=100)], ...],
        doc(
            "The addresses that machines are given: single ones, ranges such as 10.0.0.2-10.0.0.9, and networks such "
            "as 10.0.0.0/24. They need not be next to each other.",
            maxItems=256,
            list_type="set",
        ),
    ]
    prefix: Annotated[int, doc("How many bits of an address are those of the network.", minimum=1, maximum=128)]
    gateway: Annotated[str, doc("Where packets for other networks go.", minLength=1, maxLength=45)]
    metric: Annotated[
        int | None,
        doc("How dear the default route is; the cheapest is taken.", minimum=0, default=DEFAULT_METRIC),
    ] = None


class ZoneConfig(Model):
    """The network of a zone. Machines name their zone in network.zone."""

    zone: Annotated[str, doc("The name of the zone.", minLength=1, maxLength=63)]
    ipv4_config: Annotated[
        IPConfig | None, doc("The IPv4 addresses of machines in the zone.", rules=[SOME_IPV4_ADDRESSES])
    ] = None
    ipv6_config: Annotated[
        IPConfig | None, doc("The IPv6 addresses of machines in the zone.", rules=[SOME_IPV6_ADDRESSES])
    ] = None
    dns_servers: Annotated[DnsServers, doc("The name servers of machines in the zone.")]
