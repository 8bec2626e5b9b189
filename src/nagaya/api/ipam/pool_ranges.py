"""Which addresses the spec of a pool means: those that it lists, without those that are never given."""

from __future__ import annotations

from nagaya.api.ipam.in_cluster_ip_pool import InClusterIPPoolSpec
from nagaya.api.ipam.ranges import RangeSet, is_ipv4, network_of, number_of


def listed(spec: InClusterIPPoolSpec) -> RangeSet:
    """All addresses that a pool lists and does not exclude: nobody else is to have them. Raises ValueError."""
    return RangeSet.parse(spec.addresses) - RangeSet.parse(spec.excluded_addresses)


def giveable(spec: InClusterIPPoolSpec) -> RangeSet:
    """The addresses that claims can get: without the gateway, and unless the spec says otherwise without the addresses
    that stand for the network itself. Raises ValueError."""
    addresses = RangeSet.parse(spec.addresses)
    if not addresses:
        return addresses
    withheld = [*RangeSet.parse(spec.excluded_addresses).ranges]
    if not spec.allocate_reserved_ip_addresses:
        first, last = network_of(addresses.ranges[0][0], spec.prefix)
        withheld.append((first, first))  # the network's own address, or with IPv6 that of any router
        if is_ipv4(first):
            withheld.append((last, last))  # broadcast
    if spec.gateway:
        gateway = number_of(spec.gateway)
        if gateway is None:
            raise ValueError(f"{spec.gateway!r} is no address")
        withheld.append((gateway, gateway))
    return addresses - RangeSet.of(withheld)
