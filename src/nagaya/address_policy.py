"""Where Nagaya connects for objects of the management API: Proxmox VE and APIs of tenants, at addresses that tenants
write down.

Nagaya reaches more than a tenant does: services on its own loopback, the metadata service of a cloud, its own API. What
always holds: the address of each socket is checked when that socket is connected, so neither a name that resolves
differently the second time nor a redirect leads there; and what is allowed in addition was said by an administrator, or
is where another Nagaya process of the same user listens right now (`allowed_endpoints`).
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from nagaya import allowed_endpoints

log = logging.getLogger(__name__)

ENVIRONMENT: Final = "NAGAYA_ALLOWED_ENDPOINTS"
"""Entries of the list, separated by commas, for all commands."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_ENTRY: Final = re.compile(r"^(\[[^\]]+\](?:/\d+)?|[^\[\]:]*)(?::(\d{1,5})(?:-(\d{1,5}))?)?$")
_METADATA: Final[tuple[Network, ...]] = tuple(
    map(ipaddress.ip_network, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::/32", "fd20:ce::254"))
)
"""Metadata services of clouds that are not link-local: Alibaba, Azure, Oracle, AWS, Google."""
_LAST_BITS: Final = tuple(map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
"""IPv6 networks whose last 32 bits are an IPv4 address: compatible, translated, NAT64. Python knows the other forms."""
_LOCAL_NAT64: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


class AddressRefused(OSError):
    """Nagaya does not connect there. The text is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """An entry of the list."""

    networks: tuple[Network, ...]
    ports: range = range(65536)

    def covers(self, address: Address, port: int) -> bool:
        """Whether it allows an endpoint."""
        return port in self.ports and any(address in each for each in self.networks)


@lru_cache(256)
def parse(text: str) -> Allowed:
    """HOST, an address or a network, with a port or a range of ports behind if not all are meant. A name stands for the
    addresses that it has when it is first read. Raises ValueError with a sentence."""
    problem = (
        f"{text!r} is not HOST[:PORT] or NETWORK[:PORT]. Write for example 127.0.0.1:8006, 10.0.0.0/8 or [::1]:8006."
    )
    bare = text.strip()
    try:
        return Allowed((ipaddress.ip_network(bare, strict=False),))  # also an IPv6 address without brackets
    except ValueError:
        found = _ENTRY.match(bare)
    if found is None or not found[1]:
        raise ValueError(problem)
    host = found[1].replace("[", "").replace("]", "")
    first, last = int(found[2] or 0), int(found[3] or found[2] or 65535)
    if last > 65535 or first > last:
        raise ValueError(problem)
    try:
        networks: tuple[Network, ...] = (ipaddress.ip_network(host, strict=False),)
    except ValueError:
        if "/" in host or not re.search("[a-z]", host, re.IGNORECASE):
            raise ValueError(problem) from None
        try:
            known = {info[4][0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
        except (OSError, UnicodeError) as error:
            raise ValueError(f"{host!r} has no address ({error}). Give the address in its place.") from None
        networks = tuple(ipaddress.ip_network(str(each).partition("%")[0]) for each in sorted(map(str, known)))
    return Allowed(networks, range(first, last + 1))


class AddressPolicy:
    """What an administrator has said of the connections of this process."""

    def __init__(self) -> None:
        self._allowed: list[Allowed] = []
        self._management: list[tuple[Address, int]] = []

    def allow(self, *entries: Allowed) -> None:
        """Allow endpoints that are refused otherwise."""
        self._allowed += entries

    def refuse(self, host: str, port: int) -> None:
        """The management API listens here. An unspecified address stands for all of this machine."""
        self._management.append((ipaddress.ip_address(host), port))

    def refuse_server(self, url: str) -> None:
        """The management API is at a URL: refuse the addresses that its host has now."""
        server = urlsplit(url)
        port = server.port or (443 if server.scheme == "https" else 80)
        try:
            found = parse(f"[{server.hostname}]" if ":" in str(server.hostname) else str(server.hostname))
        except ValueError as error:
            log.warning("objects may lead to the management API at %s: %s", url, error)
            return
        for network in found.networks:
            self.refuse(str(network.network_address), port)

    def check(self, where: tuple[Any, ...]) -> None:
        """Raise AddressRefused unless a socket may be connected to this address, as `getaddrinfo` says it."""
        host, port = str(where[0]), int(where[1])
        address: Address = ipaddress.ip_address(host.partition("%")[0])
        if isinstance(address, ipaddress.IPv6Address):
            address = address.ipv4_mapped or address
        why = refusal(address) or next(filter(None, (self._is_management(each, port) for each in _meant(address))), "")
        if why and not any(each.covers(address, port) for each in self._known()):
            shown = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
            raise AddressRefused(
                f"{shown} is {why}: objects of the management API may not lead there. If it is meant, an administrator "
                f"allows it with `--allow-endpoint {shown}` of `nagaya up` and `nagaya controllers`, or with "
                f"{ENVIRONMENT}={shown} for other commands"
            )

    def _is_management(self, address: Address, port: int) -> str:
        for listens, at in self._management:
            if port == at and (address == listens or (listens.is_unspecified and _is_own(address))):
                return "the management API itself"
        return ""

    def _known(self) -> Iterator[Allowed]:
        yield from self._allowed
        try:
            yield from (parse(each) for each in os.environ.get(ENVIRONMENT, "").split(",") if each.strip())
        except ValueError as error:
            raise AddressRefused(f"{ENVIRONMENT}: {error}") from None
        for each in allowed_endpoints.published():
            with suppress(ValueError):
                yield parse(each)


POLICY: Final = AddressPolicy()
"""That of this process."""


def refusal(address: Address) -> str:
    """What an address is that no object may lead to; empty for addresses of other machines."""
    return next(filter(None, map(_why, _meant(address))), "")


def _meant(address: Address) -> Iterator[Address]:
    """An address, and the IPv4 addresses that it may be another form of."""
    yield address
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    number = int(address)
    if any(address in each for each in _LAST_BITS) or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        yield ipaddress.IPv4Address(number & 0xFFFFFFFF)
    yield from filter(None, (address.sixtofour, *(address.teredo or ())))


def _why(address: Address) -> str:
    if address.is_loopback:
        return "an address of this machine alone, and no emulator or control plane of this user listens there now"
    if address.is_unspecified or (address.version == 4 and int(address) >> 24 == 0):
        return "an address of this machine"
    if any(address in each for each in _METADATA):
        return "the metadata service of a cloud"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast or (address.version == 4 and address.is_reserved) or address in _LOCAL_NAT64:
        return "no address of a host"
    return ""


def _is_own(address: Address) -> bool:
    """Whether an address is one of this machine: what leaves for it comes from it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(address), 9))  # sends nothing
        except OSError:
            return False
        return ipaddress.ip_address(probe.getsockname()[0]) == address
