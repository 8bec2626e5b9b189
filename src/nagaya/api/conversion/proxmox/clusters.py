"""What is where in the two versions of clusters.

v1alpha1 has what the patches of a ClusterClass need in `cloneSpec`, with machines in a map; v1alpha2 has it beside the
rest, with machines in a list.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.conversion.proxmox.machines import (
    common_status_to_new,
    common_status_to_old,
    machine_to_new,
    machine_to_old,
)
from nagaya.api.conversion.proxmox.values import Content, chosen, filled, items, mapping

SAME_FIELDS: Final = ("externalManagedControlPlane", "allowedNodes", "dnsServers", "credentialsRef")
_CONFIGS: Final = ("ipv4Config", "ipv6Config")
_CONFIG: Final = ("addresses", "prefix", "gateway", "metric")
_CLONE: Final = ("sshAuthorizedKeys", "virtualIPNetworkInterface")


def cluster_to_new(spec: Content) -> dict[str, Any]:
    """The content of a cluster, in v1alpha2."""
    result = _same(spec)
    clone = mapping(spec.get("cloneSpec"))
    machines = [
        {"machineType": name, **machine_to_new(mapping(content), whole=False)}
        for name, content in sorted(mapping(clone.get("machineSpec")).items())
    ]
    return {**result, **filled(machineSpec=machines), **chosen(clone, _CLONE)}


def cluster_to_old(spec: Content) -> dict[str, Any]:
    """The content of a cluster, in v1alpha1."""
    machines = {each.get("machineType", ""): machine_to_old(each) for each in items(spec.get("machineSpec"))}
    clone = {**filled(machineSpec=machines), **chosen(spec, _CLONE)}
    return {**_same(spec), **filled(cloneSpec=clone)}


def _same(spec: Content) -> dict[str, Any]:
    result = chosen(spec, SAME_FIELDS)
    hints = mapping(spec.get("schedulerHints"))
    result |= filled(
        controlPlaneEndpoint=filled(**chosen(mapping(spec.get("controlPlaneEndpoint")), ("host", "port"))),
        schedulerHints=chosen(hints, ("memoryAdjustment",)),
    )
    return result | {name: chosen(mapping(spec[name]), _CONFIG) for name in _CONFIGS if mapping(spec.get(name))}


def cluster_status_to_new(status: Content) -> dict[str, Any]:
    """What is known of a cluster, in v1alpha2."""
    pools = {"inClusterIPPoolRef": status.get("inClusterIpPoolRef")}
    return {**filled(**pools), **_locations(status), **common_status_to_new(status)}


def cluster_status_to_old(status: Content) -> dict[str, Any]:
    """What is known of a cluster, in v1alpha1."""
    pools = {"inClusterIpPoolRef": status.get("inClusterIPPoolRef")}
    return {**filled(**pools), **_locations(status), **common_status_to_old(status)}


def _locations(status: Content) -> dict[str, Any]:
    locations = mapping(status.get("nodeLocations"))
    kept = {
        role: [chosen(each, ("machine", "node")) for each in items(locations.get(role))]
        for role in ("controlPlane", "workers")
    }
    return filled(nodeLocations=filled(**kept))
