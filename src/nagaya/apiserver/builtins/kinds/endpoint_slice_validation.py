"""The rules for EndpointSlices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds.endpoints import app_protocol_errors, protocol_errors, reachable
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    internal,
    invalid,
    not_supported,
    required,
    too_many,
)
from nagaya.apiserver.meta.object_meta import validate_labels
from nagaya.apiserver.meta.status import JsonObject

_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_ENDPOINTS: Final = Path("endpoints")
_PORTS: Final = Path("ports")
_ZONE: Final = "topology.kubernetes.io/zone"
_MOST_ENDPOINTS: Final = 1000
_MOST_PORTS: Final = 20000
_MOST_ADDRESSES: Final = 100
_MOST_TOPOLOGY: Final = 16
_MOST_HINTS: Final = 8


def rules(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with a slice. Endpoints that were there before stay allowed."""
    kind = obj.get("addressType") or ""
    errors: list[FieldError] = []
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _TYPES:
        errors.append(not_supported("addressType", kind, _TYPES))
    errors += _ports(obj.get("ports") or ())
    endpoints = obj.get("endpoints") or []
    found = _endpoints(endpoints, kind)
    if found and old is not None and (old.get("endpoints") or []) == endpoints:
        return errors
    return errors + found


def _ports(ports: Sequence[JsonObject]) -> list[FieldError]:
    if len(ports) > _MOST_PORTS:
        return [too_many(_PORTS, len(ports), _MOST_PORTS)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, port in enumerate(ports):
        where = _PORTS.index(position)
        name = port["name"]
        if name:
            errors += [invalid(where.child("name"), name, problem) for problem in names.dns_label(name)]
        if name in seen:
            errors.append(duplicate(where.child("name"), name))
        seen.add(name)
        # An empty protocol is one that was said, and so not missing but unknown.
        protocol = port["protocol"]
        errors += protocol_errors(where, protocol) if protocol else _unknown_protocol(where)
        errors += app_protocol_errors(where, port)
    return errors


def _unknown_protocol(where: Path) -> list[FieldError]:
    return [not_supported(where.child("protocol"), "", ("SCTP", "TCP", "UDP"))]


def _endpoints(endpoints: Sequence[JsonObject], kind: str) -> list[FieldError]:
    if len(endpoints) > _MOST_ENDPOINTS:
        return [too_many(_ENDPOINTS, len(endpoints), _MOST_ENDPOINTS)]
    return [
        error
        for position, endpoint in enumerate(endpoints)
        for error in _endpoint(endpoint, kind, _ENDPOINTS.index(position))
    ]


def _endpoint(endpoint: JsonObject, kind: str, where: Path) -> list[FieldError]:
    place = where.child("addresses")
    found: list[str] = endpoint.get("addresses") or []
    errors: list[FieldError] = []
    if not found:
        errors.append(required(place, "must contain at least 1 address"))
    elif len(found) > _MOST_ADDRESSES:
        errors.append(too_many(place, len(found), _MOST_ADDRESSES))
    check = _ADDRESSES.get(kind)
    if check is not None:
        for position, address in enumerate(found):
            errors += check(address, place, position)
    if (node := endpoint.get("nodeName")) is not None:
        errors += [invalid(where.child("nodeName"), node, problem) for problem in names.name_is_subdomain(node)]
    errors += _topology(endpoint.get("deprecatedTopology") or {}, where.child("deprecatedTopology"))
    if (hostname := endpoint.get("hostname")) is not None:
        errors += [invalid(where.child("hostname"), hostname, problem) for problem in names.dns_label(hostname)]
    if (hints := endpoint.get("hints")) is not None:
        errors += _hints(hints, where.child("hints"))
    return errors


def _ipv4(address: str, where: Path, position: int) -> list[FieldError]:
    return addresses.validate_legacy_address(where.index(position), address) or _of_family(address, where, position, 4)


def _ipv6(address: str, where: Path, position: int) -> list[FieldError]:
    return addresses.validate_address(where.index(position), address) or _of_family(address, where, position, 6)


def _of_family(address: str, where: Path, position: int, version: int) -> list[FieldError]:
    parsed = addresses.parse_address(address)
    errors: list[FieldError] = []
    if parsed is None or parsed.version != version:
        errors.append(invalid(where, address, f"must be an IPv{version} address"))
    return errors + reachable(where.index(position), address)


def _domain(address: str, where: Path, position: int) -> list[FieldError]:
    place = where.index(position)
    if not address:
        return [required(place)]
    name = address.removesuffix(".")
    if problems := names.dns_subdomain(name):
        return [invalid(place, name, ",".join(problems))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid(place, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        if problems := names.dns_label(label):
            return [invalid(place, label, ",".join(problems))]
    return []


_ADDRESSES: Final[dict[str, Callable[[str, Path, int], list[FieldError]]]] = {
    "IPv4": _ipv4,
    "IPv6": _ipv6,
    "FQDN": _domain,
}


def _topology(topology: dict[str, str], where: Path) -> list[FieldError]:
    errors = validate_labels(topology, where)
    if len(topology) > _MOST_TOPOLOGY:
        errors.insert(0, too_many(where, len(topology), _MOST_TOPOLOGY))
    if _ZONE in topology:
        errors.append(internal(where.key(_ZONE), "reserved key was not removed in conversion"))
    return errors


def _hints(hints: JsonObject, where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for member, check in (("forZones", names.label_value), ("forNodes", names.name_is_subdomain)):
        listed = hints.get(member) or []
        if len(listed) > _MOST_HINTS:
            return [*errors, too_many(where.child(member), len(listed), _MOST_HINTS)]
        seen: set[str] = set()
        for position, hint in enumerate(listed):
            place = where.child(member).index(position).child("name")
            name = hint.get("name") or ""
            if name in seen:
                errors.append(duplicate(place, name))
            seen.add(name)
            errors += [invalid(place, name, problem) for problem in check(name)]
    return errors
