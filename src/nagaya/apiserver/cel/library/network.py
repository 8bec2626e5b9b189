"""IP addresses and networks: `ip(...)`, `cidr(...)` and what can be asked of them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any, Final

from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.library import netip
from nagaya.apiserver.cel.values import CelError, NoSuchOverloadError, Opaque
from nagaya.apiserver.meta import gostring

_LOCAL_MULTICAST: Final = IPv4Network("224.0.0.0/24")


class Ip(Opaque):
    """An address. Never one with a zone, and never an IPv4 address mapped into IPv6."""

    __slots__ = ("address",)

    type_name = "net.IP"

    def __init__(self, address: netip.Address) -> None:
        self.address = address

    def equals(self, other: Any) -> bool:
        """Whether it is the same address."""
        return bool(self.address == other.address)


class Cidr(Opaque):
    """An address with a prefix length; bits behind the prefix may be set."""

    __slots__ = ("address", "length")

    type_name = "net.CIDR"

    def __init__(self, address: netip.Address, length: int) -> None:
        self.address = address
        self.length = length

    def equals(self, other: Any) -> bool:
        """Whether it is the same address with the same prefix length."""
        return bool(self.address == other.address and self.length == other.length)

    @property
    def network(self) -> IPv4Network | IPv6Network:
        """All addresses with the prefix."""
        return ip_network((self.address, self.length), strict=False)


def _ip(text: str) -> Ip:
    try:
        address, zone = netip.parse_address(text)
    except ValueError as error:
        raise CelError(
            f"IP Address {gostring.quote(text)} parse error during conversion from string: {error}"
        ) from None
    if zone:
        raise CelError(f"IP address {gostring.quote(text)} with zone value is not allowed")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {gostring.quote(text)} is not allowed")
    return Ip(address)


def _is_ip(text: str) -> bool:
    try:
        _ip(text)
    except CelError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_ip(text).address) == text


def _cidr(text: str) -> Cidr:
    where = "network address parse error during conversion from string"
    try:
        address, length = netip.parse_prefix(text)
    except ValueError as error:
        raise CelError(f"{where}: {where}: {error}") from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f"{where}: IPv4-mapped IPv6 address {gostring.quote(text)} is not allowed")
    return Cidr(address, length)


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except CelError:
        return False
    return True


def _is_link_local_multicast(ip: Ip) -> bool:
    if isinstance(ip.address, IPv4Address):
        return ip.address in _LOCAL_MULTICAST
    packed = ip.address.packed
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    if int(address) in (0, 0xFFFFFFFF) and isinstance(address, IPv4Address):
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    return ip.address in cidr.network


def _contains_ip_text(cidr: Cidr, text: str) -> bool:
    try:
        return _contains_ip(cidr, _ip(text))
    except CelError:
        # The real server loses the reason on the way.
        raise NoSuchOverloadError from None


def _contains_cidr(outer: Cidr, inner: Cidr) -> bool:
    return outer.length <= inner.length and inner.address in outer.network


def _masked(cidr: Cidr) -> Cidr:
    return Cidr(cidr.network.network_address, cidr.length)


FUNCTIONS: Final = (
    function(
        "ip",
        overload("(string) -> net.IP", _ip),
        overload("net.CIDR.() -> net.IP", lambda cidr: Ip(cidr.address)),
    ),
    function("isIP", overload("(string) -> bool", _is_ip)),
    function("ip.isCanonical", overload("(string) -> bool", _is_canonical)),
    function("family", overload("net.IP.() -> int", lambda ip: ip.address.version)),
    function("isUnspecified", overload("net.IP.() -> bool", lambda ip: ip.address.is_unspecified)),
    function("isLoopback", overload("net.IP.() -> bool", lambda ip: ip.address.is_loopback)),
    function("isLinkLocalMulticast", overload("net.IP.() -> bool", _is_link_local_multicast)),
    function("isLinkLocalUnicast", overload("net.IP.() -> bool", lambda ip: ip.address.is_link_local)),
    function("isGlobalUnicast", overload("net.IP.() -> bool", _is_global_unicast)),
    function("cidr", overload("(string) -> net.CIDR", _cidr)),
    function("isCIDR", overload("(string) -> bool", _is_cidr)),
    function(
        "containsIP",
        overload("net.CIDR.(string) -> bool", _contains_ip_text),
        overload("net.CIDR.(net.IP) -> bool", _contains_ip),
    ),
    function(
        "containsCIDR",
        overload("net.CIDR.(string) -> bool", lambda cidr, text: _contains_cidr(cidr, _cidr(text))),
        overload("net.CIDR.(net.CIDR) -> bool", _contains_cidr),
    ),
    function("prefixLength", overload("net.CIDR.() -> int", lambda cidr: cidr.length)),
    function("masked", overload("net.CIDR.() -> net.CIDR", _masked)),
    function(
        "string",
        overload("(net.IP) -> string", lambda ip: str(ip.address)),
        overload("(net.CIDR) -> string", lambda cidr: f"{cidr.address}/{cidr.length}"),
    ),
)
