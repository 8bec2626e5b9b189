"""Endpoints: the addresses behind a service, in the old form."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SUBSETS: Final = Path("subsets")
_KEEPER: Final = ("endpoints.kubernetes.io/managed-by", "endpoint-controller")


class EndpointsStrategy(CoreStrategy):
    """Endpoints."""

    allow_create_on_update = True

    def default(self, obj: JsonObject) -> None:
        """Ports are TCP unless they say otherwise."""
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Addresses and ports. What was there before stays allowed."""
        errors = [
            error
            for position, subset in enumerate(obj.get("subsets") or ())
            for error in _subset_errors(subset, _SUBSETS.index(position))
        ]
        if errors and old is not None and (old.get("subsets") or []) == (obj.get("subsets") or []):
            return []
        return errors

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Addresses in odd forms."""
        return _warnings(obj)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return _warnings(new)


def _subset_errors(subset: JsonObject, where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.append(required(where, "must specify `addresses` or `notReadyAddresses`"))
    for member in ("addresses", "notReadyAddresses"):
        for position, address in enumerate(subset.get(member) or ()):
            errors += _address_errors(address, where.child(member).index(position))
    ports = subset.get("ports") or ()
    for position, port in enumerate(ports):
        errors += _port_errors(port, where.child("ports").index(position), named=len(ports) > 1)
    return errors


def _address_errors(address: JsonObject, where: Path) -> list[FieldError]:
    ip = address.get("ip") or ""
    errors = addresses.validate_legacy_address(where.child("ip"), ip)
    if hostname := address.get("hostname"):
        errors += [invalid(where.child("hostname"), hostname, problem) for problem in names.dns_label(hostname)]
    if (node := address.get("nodeName")) is not None:
        errors += [invalid(where.child("nodeName"), node, problem) for problem in names.name_is_subdomain(node)]
    return errors + reachable(where.child("ip"), ip)


def reachable(where: Path, text: str) -> list[FieldError]:
    """An address that somebody else can be reached at."""
    address = addresses.parse_address(text)
    if address is None:
        return [invalid(where, text, "must be a valid IP address")]
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if address.is_unspecified:
        return [invalid(where, text, f"may not be unspecified ({text})")]
    if address.is_loopback:
        return [invalid(where, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")]
    if address.is_link_local:
        return [invalid(where, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
    local_multicast = (
        (address.packed[:3] == b"\xe0\0\0")
        if address.version == 4
        else (address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02)
    )
    if local_multicast:
        return [invalid(where, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")]
    return []


def _port_errors(port: JsonObject, where: Path, *, named: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name = port.get("name") or ""
    if named and not name:
        errors.append(required(where.child("name")))
    elif name:
        errors += [invalid(where.child("name"), name, problem) for problem in names.dns_label(name)]
    number = port.get("port") or 0
    errors += [invalid(where.child("port"), number, problem) for problem in names.port_number(number)]
    errors += protocol_errors(where, port.get("protocol") or "")
    return errors + app_protocol_errors(where, port)


def protocol_errors(where: Path, protocol: str) -> list[FieldError]:
    """The protocol of a port."""
    if not protocol:
        return [required(where.child("protocol"))]
    return [] if protocol in PROTOCOLS else [not_supported(where.child("protocol"), protocol, PROTOCOLS)]


def app_protocol_errors(where: Path, port: JsonObject) -> list[FieldError]:
    """What is spoken on a port, if that is said."""
    text = port.get("appProtocol")
    if text is None:
        return []
    return [invalid(where.child("appProtocol"), text, problem) for problem in names.qualified_name(text)]


def _warnings(endpoints: JsonObject) -> list[str]:
    if (endpoints["metadata"].get("labels") or {}).get(_KEEPER[0]) == _KEEPER[1]:
        return []
    return [
        warning
        for position, subset in enumerate(endpoints.get("subsets") or ())
        for member in ("addresses", "notReadyAddresses")
        for each, address in enumerate(subset.get(member) or ())
        for warning in addresses.address_warnings(
            _SUBSETS.index(position).child(member).index(each).child("ip"), address.get("ip") or ""
        )
    ]
