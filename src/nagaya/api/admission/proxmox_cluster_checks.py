"""Checks of what the machines of a cluster on Proxmox VE share: addresses, endpoint, failure domains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, items, mapping, number, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.admission.proxmox_machine_checks import check_hosts
from nagaya.api.ipam.ranges import RangeSet, is_ipv4, number_of

_HOST_NAME: Final = re.compile(r"(?i)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_ALL_DIGITS: Final = re.compile(r"[0-9.]+")
_FAMILIES: Final = (("ipv4Config", "IPv4", 32), ("ipv6Config", "IPv6", 128))


def check_cluster(spec: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the content of a ProxmoxCluster, as far as it is given."""
    for holder, place in _networks(spec, field):
        yield from _check_addresses(holder, place)
    yield from _check_failure_domains(spec, field)
    yield from check_hosts(spec, field)


def check_endpoint(spec: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the endpoint of a ProxmoxCluster. An externally managed control plane brings its own."""
    if spec.get("externalManagedControlPlane") is True:
        return
    host, place = text(spec, "controlPlaneEndpoint", "host"), f"{field}.controlPlaneEndpoint.host"
    if not host:
        if not mapping(spec, "controlPlaneEndpointPoolRef"):
            detail = (
                "give an address that no machine has, or the pool to take one from in controlPlaneEndpointPoolRef, or "
                "set externalManagedControlPlane if the control plane runs elsewhere"
            )
            yield required(place, detail)
        return
    address = number_of(host)
    if address is None:
        if not _HOST_NAME.fullmatch(host) or _ALL_DIGITS.fullmatch(host):
            yield invalid(place, host, "provided endpoint address is not a valid IP or FQDN")
        return
    for holder, where in _networks(spec, field):
        for name, _, _ in _FAMILIES:
            given = texts(holder, name, "addresses")
            if address in (_parsed(given) or RangeSet()):
                detail = (
                    f"addresses may not contain the endpoint IP {host}: a machine would get it. Leave it out of them"
                )
                yield invalid(f"{where}.{name}.addresses", [*given], detail)


def _networks(spec: Content, field: str) -> Iterator[tuple[Content, str]]:
    yield spec, field
    for index, zone in enumerate(items(spec, "zoneConfig")):
        yield zone, f"{field}.zoneConfig[{index}]"


def _check_addresses(holder: Content, field: str) -> Iterator[FieldError]:
    for name, family, bits in _FAMILIES:
        config, place = mapping(holder, name), f"{field}.{name}"
        if not config:
            continue
        given, prefix = texts(config, "addresses"), number(config, "prefix")
        parsed = _parsed(given)
        if parsed is None:
            detail = "provided addresses are not valid IP addresses, ranges or CIDRs"
            yield invalid(f"{place}.addresses", [*given], detail)
        elif any(is_ipv4(first) != (bits == 32) for first, _ in parsed.ranges):
            yield invalid(f"{place}.addresses", [*given], f"has addresses that are not of {family}: move them")
        if prefix is not None and prefix > bits:
            yield invalid(f"{place}.prefix", prefix, f"is too long: an address of {family} has {bits} bits")
        gateway = text(config, "gateway")
        found = number_of(gateway)
        if gateway and (found is None or is_ipv4(found) != (bits == 32)):
            yield invalid(f"{place}.gateway", gateway, f"is no address of {family}")


def _parsed(given: object) -> RangeSet | None:
    try:
        return RangeSet.parse(given) if isinstance(given, list | tuple) else None
    except ValueError:
        return None


def _check_failure_domains(spec: Content, field: str) -> Iterator[FieldError]:
    homes: dict[str, str] = {}
    for index, domain in enumerate(items(spec, "failureDomains")):
        name = text(domain, "name")
        for host in texts(domain, "nodes") or (name,):
            if homes.setdefault(host, name) != name:
                detail = f"is in the failure domain {homes[host]} too: a host can be in one only"
                yield invalid(f"{field}.failureDomains[{index}].nodes", host, detail)
    allowed = set(texts(spec, "allowedNodes"))
    if allowed and homes and not allowed & homes.keys():
        detail = "has no host of allowedNodes: no machine could be placed. Add hosts to one of them"
        yield forbidden(f"{field}.failureDomains", detail)
