"""How the memory of a machine is laid out, and which layouts PVE refuses to start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import options

STATIC = 1024
"""MiB that a machine has before any are plugged in, where memory can be plugged in."""
MOST = 1 << 19
"""MiB that a processor with the usual forty address bits reaches, less what QEMU needs for itself."""
_LARGE = ("host", "max")
_MOST_OF_LARGE = 4 << 20
_NODES = 8


def check_memory(section: Mapping[str, Any], *, pluggable: bool) -> None:
    """Refuse a layout that contradicts itself."""
    memory = options.megabytes(section.get("memory"))
    nodes = [f"numa{number}" for number in range(_NODES) if section.get(f"numa{number}")]
    if pluggable:
        _check_pluggable(section, memory, nodes)
    if not section.get("numa"):
        return
    total = 0.0
    for name in nodes:
        parts = options.parts(name, str(section[name]))
        if not parts.get("memory"):
            raise Failure(f"missing NUMA node{name.removeprefix('numa')} memory value\n")
        total += float(str(parts["memory"]))
        if (hosts := parts.get("hostnodes")) is not None and not parts.get("policy"):
            raise Failure(f"you need to define a policy for hostnode {str(hosts).replace(';', ',')}\n")
    if total and total != memory:
        raise Failure("total memory for NUMA nodes must be equal to vm static memory\n")


def _check_pluggable(section: Mapping[str, Any], memory: int, nodes: list[str]) -> None:
    if not section.get("numa"):
        raise Failure("NUMA needs to be enabled for memory hotplug\n")
    model = options.parts("cpu", str(section["cpu"])).get("cputype") if section.get("cpu") else None
    most = _MOST_OF_LARGE if model in _LARGE else MOST
    if memory > most:
        raise Failure(f"Total memory is bigger than {most}MB\n")
    if nodes:
        raise Failure("cannot enable memory hotplugging with custom NUMA topology\n")
    if memory < STATIC:
        raise Failure(f"minimum memory must be {STATIC}MB\n")
    if any(options.family(name) == "virtiofs" for name in section):
        raise Failure("Memory hotplug does not work in combination with virtio-fs.\n")
