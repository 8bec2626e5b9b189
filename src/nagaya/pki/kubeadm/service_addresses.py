"""Addresses of Services that every cluster has, at fixed places of its first service range."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

_API: Final = 1
_DNS: Final = 10


def api_address(cidrs: Sequence[str]) -> str:
    """The address of the Service `kubernetes`. Raises ValueError, which names the range, if there is none."""
    return _address(cidrs, _API)


def dns_address(cidrs: Sequence[str]) -> str:
    """The address of the Service `kube-dns`. Raises ValueError, which names the range, if there is none."""
    return _address(cidrs, _DNS)


def _address(cidrs: Sequence[str], index: int) -> str:
    if not cidrs:
        raise ValueError("there is no service range: give one, such as 10.96.0.0/12")
    try:
        network = ipaddress.ip_network(cidrs[0].strip(), strict=False)
    except ValueError:
        raise ValueError(f"{cidrs[0]!r} is not an address range: give one such as 10.96.0.0/12") from None
    if index >= network.num_addresses:
        raise ValueError(f"the service range {network} is too small: it has no address number {index}")
    return str(network[index])
