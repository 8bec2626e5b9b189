"""The names and addresses that servers of a control plane are reached by: what their certificates are valid for.

Names are in alphabetical order and addresses in the order of their meaning, each once. Further ones that users ask for
must be addresses, DNS names, or DNS names with an asterisk for the first label: kubeadm refuses others too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.service_addresses import api_address

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_dns_name = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*").fullmatch
_LONGEST: Final = 253


@dataclass(frozen=True, slots=True)
class ServerNames:
    """Names and addresses, ready for a certificate."""

    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]


def api_server_names(inputs: Inputs) -> ServerNames:
    """What the API server is reached by. Raises ValueError if there is no service range, or an address is none."""
    found = _Collected()
    found.name(inputs.node_name)
    found.name("kubernetes")
    found.name("kubernetes.default")
    found.name("kubernetes.default.svc")
    if inputs.dns_domain:
        found.name(f"kubernetes.default.svc.{inputs.dns_domain}")
    found.address(api_address(inputs.service_cidrs))
    found.address(inputs.advertise_address)
    found.host(inputs.endpoint_host)
    return found.with_further(inputs.api_server_sans)


def etcd_server_names(inputs: Inputs) -> ServerNames:
    """What an etcd member is reached by from API servers. Raises ValueError if an address is none."""
    return _etcd(inputs).with_further(inputs.etcd_server_sans)


def etcd_peer_names(inputs: Inputs) -> ServerNames:
    """What an etcd member is reached by from other members. Raises ValueError if an address is none."""
    return _etcd(inputs).with_further(inputs.etcd_peer_sans)


def _etcd(inputs: Inputs) -> _Collected:
    found = _Collected()
    found.name(inputs.node_name)
    found.name("localhost")
    found.address(inputs.advertise_address)
    found.address("127.0.0.1")
    found.address("::1")
    return found


@dataclass(slots=True)
class _Collected:
    names: set[str] = field(default_factory=set)
    addresses: dict[str, None] = field(default_factory=dict)

    def name(self, name: str) -> None:
        if name:
            self.names.add(name)

    def address(self, address: str) -> None:
        if not address:
            return
        found = _address(address)
        if found is None:
            raise ValueError(f"{address!r} is not an IP address")
        self.addresses[found] = None

    def host(self, host: str) -> None:
        found = _address(host)
        if found is None:
            self.name(host)
        else:
            self.addresses[found] = None

    def with_further(self, hosts: Iterable[str]) -> ServerNames:
        for host in hosts:
            if _address(host) is None and not _is_dns_name(host):
                raise ValueError(f"{host!r} is neither an IP address nor a DNS name in lower case")
            self.host(host)
        return ServerNames(tuple(sorted(self.names)), tuple(self.addresses))


def _address(text: str) -> str | None:
    """An address in its shortest form, one of IPv4 that is written as IPv6 as what it is; None if it is none."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            return None
        return str(found.ipv4_mapped or found)
    return str(found)


def _is_dns_name(text: str) -> bool:
    return len(text) <= _LONGEST and _dns_name(text) is not None
