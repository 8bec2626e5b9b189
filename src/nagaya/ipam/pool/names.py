"""Pools, claims and addresses by name, as indexes and sentences use them."""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.global_in_cluster_ip_pool import GLOBAL_IN_CLUSTER_IP_POOLS, GlobalInClusterIPPool
from nagaya.api.ipam.group import GROUP
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS, InClusterIPPool
from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.ipam.ip_address_claim import IPAddressClaim
from nagaya.api.ipam.ip_address_reservation import ReservedPool
from nagaya.api.kind import Kind
from nagaya.kube.key import Key

Pool = InClusterIPPool | GlobalInClusterIPPool
KINDS: Final[tuple[Kind[Any], ...]] = (IN_CLUSTER_IP_POOLS, GLOBAL_IN_CLUSTER_IP_POOLS)
GLOBAL: Final = GLOBAL_IN_CLUSTER_IP_POOLS.kind


def identity(kind: Kind[Any], key: Key) -> ReservedPool:
    """A pool, which need not exist, as reservations name it."""
    return ReservedPool(kind=kind.kind, name=key.name, namespace=key.namespace)


def pool_of(obj: IPAddressClaim | IPAddress) -> ReservedPool | None:
    """The pool that a claim or an address refers to, None if it is of another provider."""
    reference = obj.spec.pool_ref
    if reference.api_group not in (GROUP, ""):
        return None
    if reference.kind == GLOBAL:
        return ReservedPool(kind=GLOBAL, name=reference.name)
    if reference.kind != IN_CLUSTER_IP_POOLS.kind:
        return None
    return ReservedPool(kind=reference.kind, name=reference.name, namespace=obj.metadata.namespace)


def place(pool: ReservedPool) -> str:
    """A pool as an index knows it."""
    return f"{pool.kind}/{pool.namespace}/{pool.name}"


def shown(pool: ReservedPool) -> str:
    """A pool in a sentence."""
    return f"{pool.kind} {_path(pool.namespace, pool.name)}"


def shown_claim(namespace: str, name: str) -> str:
    """A claim in a sentence."""
    return f"IPAddressClaim {_path(namespace, name)}"


def cluster_of(claim: IPAddressClaim) -> str:
    """The name of the Cluster that a claim is for, empty if it is for none."""
    return claim.spec.cluster_name or claim.metadata.labels.get(CLUSTER_NAME, "")


def _path(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
