"""Which addresses this machine has, and whether something listens there."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Final

from nagaya.controlplane.hosted.components.facts import LOOPBACK

_ELSEWHERE: Final = {4: (socket.AF_INET, "192.0.2.1"), 6: (socket.AF_INET6, "2001:db8::1")}
"""Addresses that nobody has: what leads there is the default route."""


def default_address(family: int = 4) -> str:
    """The address of this machine that others see; loopback if it has no other."""
    kind, target = _ELSEWHERE[family]
    with contextlib.suppress(OSError), socket.socket(kind, socket.SOCK_DGRAM) as probe:
        probe.connect((target, 9))  # sends nothing, but chooses an address
        found: str = probe.getsockname()[0]
        return found
    return LOOPBACK if family == 4 else "::1"


def is_own(address: str) -> bool:
    """Whether this machine has an address at which a tenant may listen.

    All addresses at once, and addresses of IPv4 in the form of IPv6, would be ways to the ports of other tenants. API
    servers behind balancers have loopback addresses of their own (processes.py). Behind a % comes the name of a network
    device, which can be any text.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if "%" in address or found.is_unspecified or getattr(found, "ipv4_mapped", None):
        return False
    return (not found.is_loopback or str(found) in (LOOPBACK, "::1")) and _binds(address, 0)


def is_free(address: str, port: int) -> bool:
    """Whether nobody listens at a port of an address of this machine."""
    return _binds(address, port)


def _binds(address: str, port: int) -> bool:
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        return False
    with socket.socket(_ELSEWHERE[version][0], socket.SOCK_STREAM) as probe:
        # As servers do it: a port whose last connections are still fading away is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True
