"""Admission of InClusterIPPools and GlobalInClusterIPPools: addresses that are some, of one family, in one network.

The rules and messages of the pool itself are upstream's. What depends on other objects is in `ip_pool_neighbours`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nagaya.api.admission.content import Content, number, text, texts
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.ipam.ranges import RangeSet, is_ipv4, network_of, number_of, parse

_NEITHER = "provided address is not a valid IP, range, nor CIDR"


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a pool, whatever else there is."""
    return list(_written(new)) or list(_in_one_network(new))


def _written(new: Content) -> Iterator[FieldError]:
    addresses, excluded = texts(new, "spec", "addresses"), texts(new, "spec", "excludedAddresses")
    if not addresses:
        yield invalid("spec.addresses", [], "addresses is required")
    families, problems = _families(addresses, "spec.addresses")
    yield from problems
    gateway = text(new, "spec", "gateway")
    if gateway:
        router = number_of(gateway)
        if router is None:
            yield invalid("spec.gateway", gateway, "must be an IP address")
        elif not families <= {is_ipv4(router)}:
            yield invalid("spec.gateway", gateway, "provided gateway and addresses are of mixed IP families")
    excluded_families, problems = _families(excluded, "spec.excludedAddresses")
    yield from problems
    if any(is_four != other for is_four in families for other in excluded_families):
        detail = "addresses and excluded addresses are of mixed IP families"
        yield invalid("spec.excludedAddresses", [*excluded], detail)
    grace = number(new, "spec", "addressReuseGracePeriodSeconds")
    if grace is not None and grace < 0:
        detail = "addressReuseGracePeriodSeconds must not be negative"
        yield invalid("spec.addressReuseGracePeriodSeconds", grace, detail)


def _families(given: Sequence[str], field: str) -> tuple[set[bool], list[FieldError]]:
    families: set[bool] = set()
    problems: list[FieldError] = []
    for each in given:
        try:
            families.add(is_ipv4(parse(each)[0]))
        except ValueError:
            problems.append(invalid(field, each, _NEITHER))
    if len(families) > 1:
        problems.append(invalid(field, [*given], "provided addresses are of mixed IP families"))
    return families, problems


def _in_one_network(new: Content) -> Iterator[FieldError]:
    given = texts(new, "spec", "addresses")
    prefix = number(new, "spec", "prefix") or 0
    try:
        network = RangeSet.of([network_of(RangeSet.parse(given).ranges[0][0], prefix)])
    except ValueError:
        yield invalid("spec.prefix", prefix, "provided prefix is not valid")
        return
    for each in given:
        if RangeSet.parse([each]) - network:
            yield invalid("spec.addresses", each, "provided address belongs to a different subnet than others")
