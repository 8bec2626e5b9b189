"""The pools that the addresses of a cluster's machines come from, named and made as CAPMOX does it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.in_cluster_ip_pool import DEFAULT_GRACE, InClusterIPPool
from nagaya.api.proxmox.addresses import DEFAULT_ZONE, METRIC_ANNOTATION, IPConfig
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster, ZonePools
from nagaya.api.proxmox.references import LocalReference
from nagaya.clusters.owners import controller, with_owner

V4: Final = "v4"
V6: Final = "v6"


@dataclass(frozen=True, slots=True)
class WantedPool:
    """A pool that there is to be."""

    name: str
    zone: str
    family: str
    config: IPConfig


def pool_name(cluster: str, zone: str, family: str) -> str:
    """The name of a pool. The zone of the cluster itself is not in it."""
    return f"{cluster}-{family}-icip" if zone == DEFAULT_ZONE else f"{cluster}-{zone}-{family}-icip"


def wanted_pools(cluster: ProxmoxCluster) -> tuple[WantedPool, ...]:
    """All pools of a cluster: its own, then those of its zones."""
    return tuple(_wanted(cluster))


def _wanted(cluster: ProxmoxCluster) -> Iterator[WantedPool]:
    spec = cluster.spec
    zones = [(DEFAULT_ZONE, spec.ipv4_config, spec.ipv6_config)]
    zones += [(each.zone, each.ipv4_config, each.ipv6_config) for each in spec.zone_config]
    for zone, *configs in zones:
        for family, config in zip((V4, V6), configs, strict=True):
            if config is not None and config.addresses:
                yield WantedPool(pool_name(cluster.metadata.name, zone, family), zone, family, config)


def pool_spec(config: IPConfig) -> dict[str, Any]:
    """The content of a pool."""
    return {
        "addresses": [*config.addresses],
        "prefix": config.prefix,
        "gateway": config.gateway,
        "addressReuseGracePeriodSeconds": DEFAULT_GRACE,
    }


def new_pool(cluster: ProxmoxCluster, cluster_name: str, wanted: WantedPool) -> Mapping[str, Any]:
    """A pool to make."""
    metadata: dict[str, Any] = {
        "namespace": cluster.metadata.namespace,
        "name": wanted.name,
        "labels": {CLUSTER_NAME: cluster_name},
        "ownerReferences": msgspec.to_builtins((controller(PROXMOX_CLUSTERS, cluster),)),
    }
    if wanted.config.metric is not None:
        metadata["annotations"] = {METRIC_ANNOTATION: str(wanted.config.metric)}
    return {"metadata": metadata, "spec": pool_spec(wanted.config)}


def pool_change(cluster: ProxmoxCluster, wanted: WantedPool, present: InClusterIPPool) -> Mapping[str, Any] | None:
    """The merge patch that makes a pool what it is to be; None if it is. How long addresses rest is only set when a
    pool is made: whoever changed it since had a reason."""
    content: dict[str, Any] = {}
    spec, config = present.spec, wanted.config
    if (spec.addresses, spec.prefix, spec.gateway) != (config.addresses, config.prefix, config.gateway):
        changed = pool_spec(config)
        del changed["addressReuseGracePeriodSeconds"]
        content["spec"] = changed
    metric = None if config.metric is None else str(config.metric)
    metadata: dict[str, Any] = {}
    if present.metadata.annotations.get(METRIC_ANNOTATION) != metric:
        metadata["annotations"] = {METRIC_ANNOTATION: metric}
    owners = with_owner(present.metadata.owner_references, controller(PROXMOX_CLUSTERS, cluster))
    if owners != present.metadata.owner_references:
        metadata["ownerReferences"] = msgspec.to_builtins(owners)
    if metadata:
        content["metadata"] = metadata
    return content or None


def zone_pools(wanted: tuple[WantedPool, ...]) -> tuple[ZonePools, ...]:
    """The pools of each zone, in the order of the zones."""
    zones: dict[str, dict[str, LocalReference]] = {}
    for each in wanted:
        zones.setdefault(each.zone, {})[each.family] = LocalReference(name=each.name)
    return tuple(
        ZonePools(zone=zone, in_cluster_ip_pool_ref_v4=found.get(V4), in_cluster_ip_pool_ref_v6=found.get(V6))
        for zone, found in zones.items()
    )
