"""The rules for what a network policy says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from nagaya.apiserver.builtins.kinds.network_policy import DIRECTIONS, blocks, networks
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

_SPEC: Final = Path("spec")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SHOWN_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_TYPES: Final = ("Ingress", "Egress")


def rules(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with a policy's spec, which was `old` before."""
    # A policy that was made before label values were checked may keep them, and its networks in whatever form.
    lenient = old is not None and bool(label_selector.validate(old["podSelector"], Path()))
    known = {network for where, block in blocks(old or {}) for _, network in networks(block, where)}
    errors = label_selector.validate(spec["podSelector"], _SPEC.child("podSelector"), invalid_values_allowed=lenient)
    for direction, peers in DIRECTIONS:
        for position, rule in enumerate(spec.get(direction) or ()):
            where = _SPEC.child(direction).index(position)
            for each, port in enumerate(rule.get("ports") or ()):
                errors += _port(port, where.child("ports").index(each))
            for each, peer in enumerate(rule.get(peers) or ()):
                errors += _peer(peer, where.child(peers).index(each), lenient, known)
    return errors + _types(spec.get("policyTypes") or [])


def _types(types: list[str]) -> list[FieldError]:
    where = _SPEC.child("policyTypes")
    if len(types) > len(_TYPES):
        return [invalid(where, types, "may not specify more than two policyTypes")]
    return [
        not_supported(where.index(position), each, _TYPES) for position, each in enumerate(types) if each not in _TYPES
    ]


def _port(port: JsonObject, where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if port["protocol"] not in _PROTOCOLS:
        errors.append(not_supported(where.child("protocol"), port["protocol"], _SHOWN_PROTOCOLS))
    number, end = port.get("port"), port.get("endPort")
    last = where.child("endPort")
    if isinstance(number, int):
        errors += [invalid(where.child("port"), number, problem) for problem in names.port_number(number)]
        if end is not None:
            if end < number:
                errors.append(invalid(last, number, "must be greater than or equal to `port`"))
            errors += [invalid(last, end, problem) for problem in names.port_number(end)]
        return errors
    if end is not None:
        state = "not specified" if number is None else "non-numeric"
        errors.append(invalid(last, end, f"may not be specified when `port` is {state}"))
    if number is not None:
        errors += [invalid(where.child("port"), number, problem) for problem in names.port_name(number)]
    return errors


def _peer(peer: JsonObject, where: Path, lenient: bool, known: Collection[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for member in ("podSelector", "namespaceSelector"):
        errors += label_selector.validate(peer.get(member), where.child(member), invalid_values_allowed=lenient)
    block = peer.get("ipBlock")
    if block is not None:
        errors += _block(block, where.child("ipBlock"), known)
    if not peer:
        errors.append(required(where, "must specify a peer"))
    elif block is not None and len(peer) > 1:
        errors.append(forbidden(where, "may not specify both ipBlock and another peer"))
    return errors


def _block(block: JsonObject, where: Path, known: Collection[str]) -> list[FieldError]:
    if not block["cidr"]:
        return [required(where.child("cidr"))]
    errors = addresses.validate_legacy_network(where.child("cidr"), block["cidr"], known=known)
    parsed = addresses.parse_network(block["cidr"])
    if parsed is None:
        return errors
    whole = parsed[1]
    for position, text in enumerate(block.get("except") or ()):
        place = where.child("except").index(position)
        errors += addresses.validate_legacy_network(place, text, known=known)
        part = addresses.parse_network(text)
        if part is None:
            continue
        if part[1].network_address not in whole or whole.prefixlen >= part[1].prefixlen:
            errors.append(invalid(place, text, "must be a strict subset of `cidr`"))
    return errors
