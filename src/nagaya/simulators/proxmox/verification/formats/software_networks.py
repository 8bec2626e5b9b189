"""Formats of software-defined networks."""

from __future__ import annotations

import re

from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.addresses import cidr
from nagaya.simulators.proxmox.verification.formats.kinds import Check

_ROUTE_TARGET = re.compile(r"^(\d+):(\d+)$")


def subnet(value: str) -> None:
    """A network, or zone, address and length with dashes between."""
    if "/" in value:
        cidr(value)
    else:
        _, address, length = (*value.split("-"), "", "", "")[:3]
        cidr(f"{address}/{length}")


def route_target(value: str) -> None:
    """A BGP route target: two numbers of 32 bits."""
    matched = _ROUTE_TARGET.match(value)
    if matched is None or any(int(number) > 0xFFFFFFFF for number in matched.groups()):
        raise FormatError("value does not look like a valid bgp route-target\n")


FORMATS: dict[str, Check] = {"pve-sdn-bgp-rt": route_target, "pve-sdn-subnet-id": subnet}
