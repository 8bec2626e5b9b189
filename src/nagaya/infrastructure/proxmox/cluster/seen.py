"""Everything that a decision about a ProxmoxCluster may depend on, read at one moment from caches alone.

Whether Proxmox VE is there is handed in: that is asked before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS, InClusterIPPool
from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS, IPAddressClaim
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.clusters.external import keep
from nagaya.clusters.owners import is_a
from nagaya.infrastructure.proxmox.cluster.availability import Availability
from nagaya.infrastructure.proxmox.cluster.pools import wanted_pools
from nagaya.infrastructure.proxmox.connection.grant import is_granted
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS, CredentialsSecret, follow_credentials
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

BY_SECRET: Final = "credentials"  # noqa: S105 - the name of an index
"""The index of ProxmoxClusters by the Secret that they name."""
BY_NAME: Final = "cluster-name"
"""The index of ProxmoxClusters by namespace and the name of their Cluster."""
BY_CLUSTER: Final = "cluster-of-proxmoxcluster"
"""The index of ProxmoxMachines by namespace and cluster."""
_HOSTED: Final = "HostedControlPlane"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a ProxmoxCluster."""

    proxmox: ProxmoxCluster
    cluster: Cluster | None
    """Its owner, once there is one."""
    availability: Availability
    pools: Mapping[str, InClusterIPPool]
    """Those that are there, by name."""
    claim: IPAddressClaim | None
    """That for the address of the API."""
    address: str
    """The address that the claim got; empty if none."""
    machines: tuple[ProxmoxMachine, ...]
    secret: CredentialsSecret | None
    """That of spec.credentialsRef, without data, if the cluster may use it."""
    secret_shared: bool
    """Whether other ProxmoxClusters name it too."""
    now: datetime

    @property
    def hosted(self) -> bool:
        """Whether the control plane is not on the machines, and its provider says itself where its API is."""
        reference = None if self.cluster is None else self.cluster.spec.control_plane_ref
        return reference is not None and reference.kind == _HOSTED

    @property
    def provisioned(self) -> bool:
        """Whether it has been ready once."""
        return self.proxmox.status.initialization.provisioned is True


def claim_name(proxmox: ProxmoxCluster) -> str:
    """The name of the claim for the address of the API."""
    return f"{proxmox.metadata.name}-control-plane-endpoint"


def secret_key(proxmox: ProxmoxCluster) -> Key | None:
    """The Secret that is used as it is, if there is one. Its namespace is that of the cluster if left out."""
    named = proxmox.spec.credentials_ref
    if named is None or not named.name:
        return None
    return Key(named.namespace or proxmox.metadata.namespace, named.name)


def index(cache: Cache) -> None:
    """Have clusters found by their Secrets, and machines by their clusters. All are kept from here on."""
    keep(cache, (PROXMOX_CLUSTERS, PROXMOX_MACHINES, IN_CLUSTER_IP_POOLS, IP_ADDRESS_CLAIMS, IP_ADDRESSES))
    follow_credentials(cache)
    cache.add_index(PROXMOX_CLUSTERS, BY_SECRET, _secret)
    cache.add_index(PROXMOX_CLUSTERS, BY_NAME, _names)
    cache.add_index(PROXMOX_MACHINES, BY_CLUSTER, _cluster)


def owner_of(cache: Cache, proxmox: ProxmoxCluster) -> Cluster | None:
    """The Cluster that owns it, if it is there and is the very object that is meant."""
    for reference in proxmox.metadata.owner_references:
        if is_a(reference, CLUSTERS):
            found = cache.get(CLUSTERS, Key(proxmox.metadata.namespace, reference.name))
            if found is not None and found.metadata.uid == reference.uid:
                return found
    return None


def observe(rt: Runtime, proxmox: ProxmoxCluster, availability: Availability) -> Seen:
    """A ProxmoxCluster and what concerns it."""
    cache, namespace = rt.cache, proxmox.metadata.namespace
    cluster = owner_of(cache, proxmox)
    found = {each.name: cache.get(IN_CLUSTER_IP_POOLS, Key(namespace, each.name)) for each in wanted_pools(proxmox)}
    claim = cache.get(IP_ADDRESS_CLAIMS, Key(namespace, claim_name(proxmox)))
    key = secret_key(proxmox)
    sharing = [] if key is None else cache.by(PROXMOX_CLUSTERS, BY_SECRET, str(key))
    return Seen(
        proxmox,
        cluster,
        availability,
        {name: pool for name, pool in found.items() if pool is not None},
        claim,
        _address(cache, claim),
        tuple(_machines(cache, proxmox, cluster)),
        _secret_of(cache, key, namespace),
        any(each.metadata.uid != proxmox.metadata.uid for each in sharing),
        rt.world.clock.now(),
    )


def _machines(cache: Cache, proxmox: ProxmoxCluster, cluster: Cluster | None) -> list[ProxmoxMachine]:
    name = cluster.metadata.name if cluster is not None else proxmox.metadata.labels.get(CLUSTER_NAME, "")
    return cache.by(PROXMOX_MACHINES, BY_CLUSTER, f"{proxmox.metadata.namespace}/{name}") if name else []


def _address(cache: Cache, claim: IPAddressClaim | None) -> str:
    reference = None if claim is None else claim.status.address_ref
    if claim is None or reference is None:
        return ""
    found = cache.get(IP_ADDRESSES, Key(claim.metadata.namespace, reference.name))
    return "" if found is None else found.spec.address


def _secret_of(cache: Cache, key: Key | None, namespace: str) -> CredentialsSecret | None:
    found = None if key is None else cache.get(CREDENTIALS, key)
    return found if found is not None and is_granted(found, namespace) else None


def _secret(proxmox: ProxmoxCluster) -> tuple[str, ...]:
    key = secret_key(proxmox)
    return () if key is None else (str(key),)


def _names(proxmox: ProxmoxCluster) -> tuple[str, ...]:
    metadata = proxmox.metadata
    names = [each.name for each in metadata.owner_references if is_a(each, CLUSTERS)]
    names += [metadata.labels.get(CLUSTER_NAME, "")]
    return tuple(dict.fromkeys(f"{metadata.namespace}/{name}" for name in names if name))


def _cluster(machine: ProxmoxMachine) -> tuple[str, ...]:
    name = machine.metadata.labels.get(CLUSTER_NAME)
    return (f"{machine.metadata.namespace}/{name}",) if name else ()
