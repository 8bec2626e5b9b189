"""The calls that a plan for a ProxmoxCluster needs, in order. Any of them may be the last."""

from __future__ import annotations

import logging
from typing import Any, Final

import msgspec

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.proxmox_cluster import FINALIZER, PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.clusters.finalizer import release
from nagaya.clusters.owners import controller
from nagaya.infrastructure.proxmox.cluster.plan import Plan
from nagaya.infrastructure.proxmox.cluster.pools import WantedPool, new_pool, pool_change
from nagaya.infrastructure.proxmox.cluster.secret_hold import Hold, held, let_go
from nagaya.infrastructure.proxmox.cluster.seen import Seen, claim_name
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS, CredentialsSecret
from nagaya.kube.api import Api
from nagaya.kube.errors import AlreadyExists, BadRequest, Forbidden, Invalid, NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

log = logging.getLogger(__name__)


REFUSALS: Final = (Invalid, Forbidden, BadRequest)
"""What the API answers when rules on pools and claims, or rights, are against it."""


async def apply(api: Api, seen: Seen, plan: Plan) -> tuple[ProxmoxCluster, str]:
    """Carry out a plan for a cluster that is to stay, or that has to wait. Returns what the API refused, as a sentence:
    trying again at once would not help."""
    proxmox = await _write(api, seen.proxmox, plan)
    if plan.own_secret and seen.secret is not None:
        await _hold(api, seen.secret, held(seen.secret, proxmox))
    refused = await _make_pools(api, seen, plan)
    if plan.claim:
        refused += await _make_claim(api, seen)
    if plan.drop_claim and seen.claim is not None:
        await api.delete(IP_ADDRESS_CLAIMS, seen.claim)
    return proxmox, " ".join(refused)


async def let_all_go(rt: Runtime, api: Api, seen: Seen) -> None:
    """The end: the Secret first, since nothing would lead to it afterwards."""
    if seen.secret is not None:
        await _hold(api, seen.secret, let_go(seen.secret, seen.proxmox, shared=seen.secret_shared))
    await release(rt, api, PROXMOX_CLUSTERS, seen.proxmox, FINALIZER)


async def _write(api: Api, proxmox: ProxmoxCluster, plan: Plan) -> ProxmoxCluster:
    """Finalizer, address and annotations in one patch."""
    content: dict[str, Any] = {}
    if plan.hold and FINALIZER not in proxmox.metadata.finalizers:
        content["metadata"] = {"finalizers": [*proxmox.metadata.finalizers, FINALIZER]}
    if plan.annotations:
        content.setdefault("metadata", {})["annotations"] = dict(plan.annotations)
    if plan.endpoint is not None:
        log.info("proxmox cluster %s: its API is at %s", Key.of(proxmox), plan.endpoint)
        content["spec"] = {"controlPlaneEndpoint": msgspec.to_builtins(plan.endpoint)}
    if not content:
        return proxmox
    return await api.merge(PROXMOX_CLUSTERS, proxmox, content, locked=True)


async def _hold(api: Api, secret: CredentialsSecret, wanted: Hold) -> None:
    try:
        await api.metadata(CREDENTIALS, secret, finalizers=wanted.finalizers, owners=wanted.owners)
    except NotFound:
        return  # somebody took it away by force; the next look tells


async def _make_pools(api: Api, seen: Seen, plan: Plan) -> list[str]:
    """One pool that is refused does not hold up the others."""
    refused = []
    for wanted in plan.pools:
        try:
            await _make_pool(api, seen, wanted)
        except REFUSALS as error:
            refused.append(f"InClusterIPPool {wanted.name} cannot be made as spec asks: {error.message}.")
    return refused


async def _make_pool(api: Api, seen: Seen, wanted: WantedPool) -> None:
    name = "" if seen.cluster is None else seen.cluster.metadata.name
    present = seen.pools.get(wanted.name)
    if present is None:
        try:
            await api.create(IN_CLUSTER_IP_POOLS, new_pool(seen.proxmox, name, wanted))
        except AlreadyExists:
            return  # the cache has not heard of it yet
        log.info("proxmox cluster %s: has the pool %s", Key.of(seen.proxmox), wanted.name)
    elif (change := pool_change(seen.proxmox, wanted, present)) is not None:
        await api.merge(IN_CLUSTER_IP_POOLS, present, change, locked=True)


async def _make_claim(api: Api, seen: Seen) -> list[str]:
    proxmox, pool = seen.proxmox, seen.proxmox.spec.control_plane_endpoint_pool_ref
    assert pool is not None
    assert seen.cluster is not None
    name = seen.cluster.metadata.name
    content = {
        "metadata": {
            "namespace": proxmox.metadata.namespace,
            "name": claim_name(proxmox),
            "labels": {CLUSTER_NAME: name},
            "ownerReferences": msgspec.to_builtins((controller(PROXMOX_CLUSTERS, proxmox),)),
        },
        "spec": {
            "clusterName": name,
            "poolRef": {"apiGroup": pool.api_group, "kind": pool.kind, "name": pool.name},
        },
    }
    try:
        await api.create(IP_ADDRESS_CLAIMS, content)
    except AlreadyExists:
        return []  # the cache has not heard of it yet
    except REFUSALS as error:
        return [f"No address for the API server can be claimed from {pool.kind} {pool.name}: {error.message}."]
    log.info("proxmox cluster %s: claims an address for its API from %s %s", Key.of(proxmox), pool.kind, pool.name)
    return []
