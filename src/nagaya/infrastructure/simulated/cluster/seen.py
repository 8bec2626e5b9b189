"""Everything that a decision about a simulated cluster may depend on, read at one moment from caches alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS, SimulatedCluster
from nagaya.infrastructure.simulated import ports
from nagaya.infrastructure.simulated.authority import authority_key
from nagaya.infrastructure.simulated.owners import owner_of
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS

_HOSTED: Final = "HostedControlPlane"
BY_ENDPOINT: Final = "endpoint"
"""The index of SimulatedClusters by the address of their API."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a simulated cluster."""

    simulated: SimulatedCluster
    cluster: Cluster | None
    """Its owner, once there is one."""
    offer: Endpoint
    """An address that the API could have, if it has none yet; not valid if there is none to be had."""
    rival: str
    """Another SimulatedCluster that says it has the same address; empty if there is none."""
    has_authority: bool
    now: datetime

    @property
    def elsewhere(self) -> bool:
        """Whether the control plane is not on the machines: then its API has an address that is not decided here."""
        reference = None if self.cluster is None else self.cluster.spec.control_plane_ref
        return reference is not None and reference.kind == _HOSTED

    @property
    def provisioned(self) -> bool:
        """Whether it has been ready once."""
        return self.simulated.status.initialization.provisioned is True


def index(cache: Cache) -> None:
    """Have SimulatedClusters found by the address of their API. They are kept from here on."""
    if not cache.has(SIMULATED_CLUSTERS):
        cache.start(SIMULATED_CLUSTERS)
    cache.add_index(SIMULATED_CLUSTERS, BY_ENDPOINT, _address)


def observe(rt: Runtime, tenants: Tenants, simulated: SimulatedCluster) -> Seen:
    """A simulated cluster and what concerns it."""
    cluster = owner_of(rt.cache, simulated, CLUSTERS)
    endpoint = simulated.spec.control_plane_endpoint
    offer = Endpoint()
    if cluster is not None and not endpoint.valid and not simulated.metadata.deleting:
        offer = _offer(rt.cache, tenants, simulated, cluster)
    return Seen(
        simulated,
        cluster,
        offer,
        _rival(rt.cache, simulated) if endpoint.valid else "",
        cluster is not None and rt.cache.get(TENANT_SECRETS, authority_key(Key.of(cluster))) is not None,
        rt.world.clock.now(),
    )


def _offer(cache: Cache, tenants: Tenants, simulated: SimulatedCluster, cluster: Cluster) -> Endpoint:
    if cluster.spec.control_plane_endpoint.valid:
        return cluster.spec.control_plane_endpoint
    given = simulated.spec.control_plane_endpoint
    host = given.host or ports.LOOPBACK
    if given.port:
        return Endpoint(host=host, port=given.port)

    def free(port: int) -> bool:
        endpoint = Endpoint(host=host, port=port)
        return not cache.by(SIMULATED_CLUSTERS, BY_ENDPOINT, str(endpoint)) and tenants.free(endpoint)

    return Endpoint(host=host, port=ports.choose(simulated.metadata.uid, free))


def _rival(cache: Cache, simulated: SimulatedCluster) -> str:
    """Who had the address before. The oldest one keeps it."""
    same = cache.by(SIMULATED_CLUSTERS, BY_ENDPOINT, str(simulated.spec.control_plane_endpoint))
    first = min(same, key=_age, default=simulated)
    return "" if _age(first) >= _age(simulated) else str(Key.of(first))


def _age(simulated: SimulatedCluster) -> tuple[str, str]:
    created = simulated.metadata.creation_timestamp
    return ("" if created is None else created.isoformat(), simulated.metadata.uid)


def _address(simulated: SimulatedCluster) -> tuple[str, ...]:
    endpoint = simulated.spec.control_plane_endpoint
    return (str(endpoint),) if endpoint.valid else ()
