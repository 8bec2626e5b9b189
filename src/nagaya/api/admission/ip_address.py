"""Admission of IPAddresses. They never change: an address is given once, to one claim."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from nagaya.api.admission.changes import described
from nagaya.api.admission.content import Content, mapping, number, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with an IPAddress."""
    if old is None:
        return list(_created(mapping(new, "spec")))
    changes = described(mapping(new, "spec"), mapping(old, "spec"))
    return [forbidden("spec", f"IPAddress spec is immutable. Diff: {changes}")] if changes else []


def _created(spec: Content) -> Iterator[FieldError]:
    address, prefix = _parsed(text(spec, "address")), number(spec, "prefix") or 0
    if address is None:
        yield invalid("spec.address", text(spec, "address"), "not a valid IP address")
    if prefix < 0:
        yield invalid("spec.prefix", prefix, "prefix cannot be negative")
    if address is not None and prefix > address.max_prefixlen:
        yield invalid("spec.prefix", prefix, f"prefix is too large for an IPv{address.version} address")
    gateway = text(spec, "gateway")
    if gateway and _parsed(gateway) is None:
        yield invalid("spec.gateway", gateway, "not a valid IP address")


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None
