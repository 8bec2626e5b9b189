"""Admission of Clusters."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from nagaya.api.admission.content import Content, mapping, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid
from nagaya.api.admission.names import label_value
from nagaya.api.admission.topology import check_topology
from nagaya.api.admission.version_checks import with_v

_TOPOLOGY = ("spec", "topology")
_prefix_length = re.compile(r"[0-9]{1,3}", re.ASCII).fullmatch


def default(new: Content, _: Content | None) -> Content:
    """A v in front of the version of the topology."""
    return with_v(new, *_TOPOLOGY, "version")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a Cluster."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    name = text(new, "metadata", "name")
    for problem in label_value(name):
        yield invalid("metadata.name", name, f"must be a valid label value {problem}")
    yield from _check_reference(new, old, "infrastructureRef")
    if not any(mapping(new, "spec", each) for each in ("controlPlaneRef", "infrastructureRef", "topology")):
        yield forbidden("spec", "one of spec.controlPlaneRef, spec.infrastructureRef or spec.topology must be set")
    yield from _check_reference(new, old, "controlPlaneRef")
    for use in ("pods", "services"):
        for index, block in enumerate(texts(new, "spec", "clusterNetwork", use, "cidrBlocks")):
            if not _is_range(block):
                field = f"spec.clusterNetwork.{use}.cidrBlocks[{index}]"
                yield invalid(field, block, f"invalid CIDR address: {block}")
    if mapping(new, *_TOPOLOGY):
        yield from check_topology(new, old)
    elif old is not None and mapping(old, *_TOPOLOGY):
        yield forbidden("spec.topology", "cannot be removed from an existing Cluster")


def _check_reference(new: Content, old: Content | None, name: str) -> Iterator[FieldError]:
    if old is not None and mapping(old, "spec", name) and not mapping(new, "spec", name):
        yield forbidden(f"spec.{name}", "cannot be removed")


def _is_range(text_: str) -> bool:
    address, slash, length = text_.partition("/")
    if not slash or not _prefix_length(length) or "%" in address:
        return False
    try:
        return int(length) <= ipaddress.ip_address(address).max_prefixlen
    except ValueError:
        return False
