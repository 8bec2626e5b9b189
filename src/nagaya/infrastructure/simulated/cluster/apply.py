"""The calls that a plan for a simulated cluster needs, in order. Any of them may be the last."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.simulated.simulated_cluster import FINALIZER, SIMULATED_CLUSTERS, SimulatedCluster
from nagaya.infrastructure.simulated.authority import authority_secret
from nagaya.infrastructure.simulated.cluster.plan import Plan
from nagaya.infrastructure.simulated.cluster.seen import Seen
from nagaya.infrastructure.simulated.tenants import Tenants
from nagaya.kube.api import Api
from nagaya.kube.errors import AlreadyExists
from nagaya.kube.key import Key
from nagaya.kube.tenant_secrets import TENANT_SECRETS

log = logging.getLogger(__name__)


async def apply(api: Api, tenants: Tenants, seen: Seen, plan: Plan) -> SimulatedCluster:
    """Carry out a plan for a cluster that is to stay."""
    simulated, cluster = seen.simulated, seen.cluster
    tenancy = None
    if cluster is not None and plan.provisioned and seen.elsewhere:
        if cluster.spec.control_plane_endpoint.valid:
            tenants.announce_elsewhere(Key.of(cluster), cluster.spec.control_plane_endpoint)
    elif cluster is not None and plan.provisioned and not seen.rival:
        # Before the first call, so that nobody else is offered the address meanwhile.
        tenancy = tenants.announce(Key.of(cluster), plan.endpoint or simulated.spec.control_plane_endpoint)
    simulated = await _write(api, simulated, plan)
    # The authority before anything says that the cluster is ready: its kubeconfig is made from it.
    if cluster is not None and plan.authority:
        await _make_authority(api, tenants, cluster)
    if tenancy is not None:
        await tenancy.order(plan.way)
    return simulated


async def _write(api: Api, simulated: SimulatedCluster, plan: Plan) -> SimulatedCluster:
    """Finalizer and address in one patch."""
    content: dict[str, Any] = {}
    if plan.hold and FINALIZER not in simulated.metadata.finalizers:
        content["metadata"] = {"finalizers": [*simulated.metadata.finalizers, FINALIZER]}
    if plan.endpoint is not None:
        log.info("simulated cluster %s: its API is at %s", Key.of(simulated), plan.endpoint)
        content["spec"] = {"controlPlaneEndpoint": msgspec.to_builtins(plan.endpoint)}
    if not content:
        return simulated
    return await api.merge(SIMULATED_CLUSTERS, simulated, content, locked=True)


async def _make_authority(api: Api, tenants: Tenants, cluster: Cluster) -> None:
    try:
        await api.create(TENANT_SECRETS, authority_secret(cluster, tenants.world.clock))
    except AlreadyExists:
        return  # made by a life before this one, or by the user
    log.info("simulated cluster %s: has an authority", Key.of(cluster))
