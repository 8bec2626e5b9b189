"""On which host the HA manager puts a machine: rules first, then the host that has the fewest of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.proxmox.verification import split_list


def number_of(sid: str) -> int:
    """The machine of a resource such as `vm:100`."""
    return int(sid.partition(":")[2])


def usable(datacenter: Datacenter) -> list[str]:
    """Hosts that can take machines."""
    return [node.name for node in datacenter.nodes.values() if node.online and not node.maintenance]


def candidates(datacenter: Datacenter, sid: str) -> list[str]:
    """Hosts that the rules allow for a resource, only the best ones, the emptiest first."""
    hosts = usable(datacenter)
    for rule in _rules(datacenter, sid, "node-affinity"):
        hosts = _wanted(hosts, str(rule["nodes"]), strict=bool(rule.get("strict")))
    group = datacenter.ha.groups.get(str(datacenter.ha.resources.get(sid, {}).get("group")))
    if group is not None:
        hosts = _wanted(hosts, str(group["nodes"]), strict=bool(group.get("restricted")))
    for rule in _rules(datacenter, sid, "resource-affinity"):
        taken = {
            node for other in split_list(str(rule["resources"])) if other != sid and (node := _at(datacenter, other))
        }
        if rule["affinity"] == "negative":
            hosts = [host for host in hosts if host not in taken]
        elif together := [host for host in hosts if host in taken]:
            hosts = together
    return sorted(hosts, key=lambda host: (_load(datacenter, host, sid), host))


def _rules(datacenter: Datacenter, sid: str, kind: str) -> Iterator[dict[str, Any]]:
    for rule in datacenter.ha.rules.values():
        if rule["type"] == kind and not rule.get("disable") and sid in split_list(str(rule["resources"])):
            yield rule


def _wanted(hosts: list[str], nodes: str, *, strict: bool) -> list[str]:
    """Those of the highest priority that can be had; others only if the rule is not strict."""
    priorities = {name: int(number or 0) for name, _, number in (part.partition(":") for part in split_list(nodes))}
    named = [host for host in hosts if host in priorities]
    if not named:
        return [] if strict else hosts
    best = max(priorities[host] for host in named)
    return [host for host in named if priorities[host] == best]


def _at(datacenter: Datacenter, sid: str) -> str | None:
    guest = datacenter.guests.get(number_of(sid))
    return guest.node if guest is not None else None


def _load(datacenter: Datacenter, host: str, sid: str) -> int:
    return sum(1 for other in datacenter.ha.resources if other != sid and _at(datacenter, other) == host)
