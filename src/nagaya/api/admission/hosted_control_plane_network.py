"""Checks of the addresses of a hosted control plane: what kube-apiserver and kube-controller-manager would refuse to
start with is refused here, while somebody is there to read why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import product
from typing import Final

from nagaya.api.admission.content import Content, text, texts
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.admission.names import dns_subdomain

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

_SMALLEST_SERVICE_RANGE: Final = 16  # the API has the first address, and DNS the tenth
_NODE_MASKS: Final = {4: 24, 6: 64}  # what kube-controller-manager gives each node, unless told otherwise
_MOST_NODE_BITS: Final = 16  # it keeps track of at most 2^16 nodes' ranges


def check_network(network: Content, field: str, *, sized: bool) -> Iterator[FieldError]:
    """What is wrong with the addresses. `sized` says that the user chose the size of the nodes' ranges."""
    services, wrong_services = parse_ranges(texts(network, "serviceCIDRs"), f"{field}.serviceCIDRs")
    pods, wrong_pods = parse_ranges(texts(network, "podCIDRs"), f"{field}.podCIDRs")
    yield from (*wrong_services, *wrong_pods)
    for name, ranges in (("serviceCIDRs", services), ("podCIDRs", pods)):
        if len(ranges) == 2 and ranges[0].version == ranges[1].version:
            yield invalid(f"{field}.{name}", [*map(str, ranges)], "must be one range of IPv4 and one of IPv6")
    for each in services:
        if each.num_addresses < _SMALLEST_SERVICE_RANGE:
            detail = f"is too small: at least {_SMALLEST_SERVICE_RANGE} addresses are needed"
            yield invalid(f"{field}.serviceCIDRs", str(each), detail)
    if not sized:
        yield from _node_ranges(pods, f"{field}.podCIDRs")
    for service, pod in product(services, pods):
        if service.version == pod.version and service.overlaps(pod):
            yield invalid(f"{field}.podCIDRs", str(pod), f"must not overlap with {service} in serviceCIDRs")
    yield from _dns(texts(network, "dnsServiceIPs"), services, f"{field}.dnsServiceIPs")
    yield from _address(text(network, "address"), services, f"{field}.address")
    yield from _names(network, field)


def parse_ranges(ranges: Sequence[str], field: str) -> tuple[list[Network], list[FieldError]]:
    """The ranges that are some, and what is wrong with the others."""
    networks: list[Network] = []
    problems: list[FieldError] = []
    for index, each in enumerate(ranges):
        try:
            if "/" not in each:
                raise ValueError("it has no length, as the 16 in 10.96.0.0/16")
            networks.append(ip_network(each))
        except ValueError as error:
            problems.append(invalid(f"{field}[{index}]", each, f"must be an address range: {error}"))
    return networks, problems


def _node_ranges(pods: Sequence[Network], field: str) -> Iterator[FieldError]:
    for each in pods:
        mask = _NODE_MASKS[each.version]
        if not mask - _MOST_NODE_BITS <= each.prefixlen <= mask:
            detail = (
                f"must have a length from /{mask - _MOST_NODE_BITS} to /{mask}: every node gets a /{mask} of it. "
                "Another size is set with the argument node-cidr-mask-size of the controllerManager"
            )
            yield invalid(field, str(each), detail)


def _dns(given: Sequence[str], services: Sequence[Network], field: str) -> Iterator[FieldError]:
    for index, each in enumerate(given):
        address = _parsed(each)
        if address is None:
            yield invalid(f"{field}[{index}]", each, "must be an IP address")
        elif services and not any(address in service for service in services):
            ranges = ", ".join(map(str, services))
            yield invalid(f"{field}[{index}]", each, f"must be an address from serviceCIDRs ({ranges})")
        elif any(address in (service[0], service[1]) for service in services):
            yield invalid(f"{field}[{index}]", each, "must not be the first address, which is that of the API")


def _address(given: str, services: Sequence[Network], field: str) -> Iterator[FieldError]:
    if not given:
        return
    address = _parsed(given)
    if address is None:
        for problem in dns_subdomain(given):
            yield invalid(field, given, f"must be an IP address or a DNS name: {problem}")
    elif address.is_unspecified:
        yield invalid(field, given, "must be an address that clients can connect to")
    elif services and services[0].version != address.version:
        detail = f"must be of the same family as the first of serviceCIDRs ({services[0]})"
        yield invalid(field, given, detail)


def _names(network: Content, field: str) -> Iterator[FieldError]:
    domain = text(network, "dnsDomain")
    if domain:
        yield from (invalid(f"{field}.dnsDomain", domain, problem) for problem in dns_subdomain(domain))
    for index, name in enumerate(texts(network, "certSANs")):
        if _parsed(name) is None and dns_subdomain(name.removeprefix("*.")):
            detail = "must be an IP address or a DNS name, as in api.example.com or *.example.com"
            yield invalid(f"{field}.certSANs[{index}]", name, detail)


def _parsed(given: str) -> Address | None:
    try:
        return ip_address(given)
    except ValueError:
        return None
