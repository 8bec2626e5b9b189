"""Which texts are IP addresses and networks, by the strict rules and by the lenient ones of old fields.

Old fields accept addresses that are not in canonical form; with `strict` off they also accept leading zeros and
IPv4 addresses mapped into IPv6, which some software reads differently.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.field_errors import FieldError, Where, invalid

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_QUAD = re.compile(r"\d+\.\d+\.\d+\.\d+", re.ASCII)
_PREFIX = re.compile(r"\d{1,7}", re.ASCII)


def parse_address(text: str) -> Address | None:
    """Read an address leniently: IPv4 octets may have leading zeros. Zones are refused."""
    head, colon, tail = text.rpartition(":")
    if _QUAD.fullmatch(tail):
        tail = ".".join(octet.lstrip("0") or "0" for octet in tail.split("."))
    elif not colon:
        return None
    if "%" in text:
        return None
    try:
        return ip_address(f"{head}{colon}{tail}")
    except ValueError:
        return None


def parse_network(text: str) -> tuple[Address, Network] | None:
    """Read a network leniently: bits beyond the prefix may be set. Gives the address as written, and the network."""
    address_text, slash, length = text.partition("/")
    address = parse_address(address_text)
    if not slash or address is None or not _PREFIX.fullmatch(length) or int(length) > address.max_prefixlen:
        return None
    return address, ip_network((address, int(length)), strict=False)


def canonical(address: Address) -> str:
    """The one spelling of an address that the strict rules accept; a mapped IPv4 address is written as IPv4."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _canonical_network(network: Network) -> str:
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is not None and network.prefixlen >= 96:
        return f"{mapped}/{network.prefixlen - 96}"
    return str(network)


def _has_leading_zeros(text: str) -> bool:
    tail = text.rpartition(":")[2]
    return "." in tail and any(len(octet) > 1 and octet.startswith("0") for octet in tail.split("."))


def _is_mapped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def _address_errors(where: Where, text: str, strict: bool) -> tuple[Address | None, list[FieldError]]:
    address = parse_address(text)
    if address is None:
        return None, [invalid(where, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    if not strict:
        return address, []
    if _has_leading_zeros(text):
        return address, [invalid(where, text, "must not have leading 0s")]
    if _is_mapped(address):
        return address, [invalid(where, text, "must not be an IPv4-mapped IPv6 address")]
    return address, []


def validate_address(where: Where, text: str) -> list[FieldError]:
    """The strict rule for an address: valid and canonical."""
    address, errors = _address_errors(where, text, strict=True)
    if errors or address is None or text == canonical(address):
        return errors
    return [invalid(where, text, f"must be in canonical form ({gostring.quote(canonical(address))})")]


def validate_legacy_address(
    where: Where, text: str, *, strict: bool = True, known: Collection[str] = ()
) -> list[FieldError]:
    """The rule for an address in an old field. What is `known` from the old object passes."""
    return [] if text in known else _address_errors(where, text, strict)[1]


def _network_errors(where: Where, text: str, strict: bool) -> tuple[Network | None, list[FieldError]]:
    parsed = parse_network(text)
    if parsed is None:
        return None, [invalid(where, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    address, network = parsed
    if not strict:
        return network, []
    address_text, _, length = text.partition("/")
    if _has_leading_zeros(address_text) or (len(length) > 1 and length.startswith("0")):
        return network, [invalid(where, text, "must not have leading 0s in IP or prefix length")]
    if _is_mapped(address):
        return network, [invalid(where, text, "must not have an IPv4-mapped IPv6 address")]
    if address != network.network_address:
        return network, [invalid(where, text, "must not have bits set beyond the prefix length")]
    return network, []


def validate_network(where: Where, text: str) -> list[FieldError]:
    """The strict rule for a network: valid and canonical."""
    network, errors = _network_errors(where, text, strict=True)
    if errors or network is None or text == _canonical_network(network):
        return errors
    return [invalid(where, text, f"must be in canonical form ({gostring.quote(_canonical_network(network))})")]


def validate_legacy_network(
    where: Where, text: str, *, strict: bool = True, known: Collection[str] = ()
) -> list[FieldError]:
    """The rule for a network in an old field. What is `known` from the old object passes."""
    return [] if text in known else _network_errors(where, text, strict)[1]


def address_warnings(where: Where, text: str) -> list[str]:
    """What to tell a client that gave an old field an address in an odd form."""
    address = parse_address(text)
    if address is None:
        return []
    if _has_leading_zeros(text) or _is_mapped(address):
        use = gostring.quote(canonical(address))
        return [f"{where}: non-standard IP address {gostring.quote(text)} is invalid: use {use}"]
    if isinstance(address, IPv6Address) and str(address) != text:
        form = gostring.quote(str(address))
        return [f"{where}: IPv6 address {gostring.quote(text)} should be in RFC 5952 canonical format ({form})"]
    return []


def network_warnings(where: Where, text: str) -> list[str]:
    """What to tell a client that gave an old field a network in an odd form."""
    parsed = parse_network(text)
    if parsed is None:
        return []
    address, network = parsed
    quoted, right = gostring.quote(text), gostring.quote(_canonical_network(network))
    warnings = []
    if address != network.network_address:
        single = gostring.quote(f"{canonical(address)}/{network.max_prefixlen}")
        warnings.append(f"{where}: CIDR value {quoted} is ambiguous in this context (should be {right} or {single}?)")
    address_text, _, length = text.partition("/")
    if _has_leading_zeros(address_text) or (len(length) > 1 and length.startswith("0")) or _is_mapped(address):
        warnings.append(f"{where}: non-standard CIDR value {quoted} is invalid: use {right}")
    if not warnings and isinstance(address, IPv6Address) and f"{address}/{length}" != text:
        form = gostring.quote(f"{address}/{length}")
        warnings.append(f"{where}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format ({form})")
    return warnings
