"""Which ProxmoxClusters have to look at a change of something else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.ip_address import IPAddress
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection
from nagaya.api.proxmox.proxmox_machine import ProxmoxMachine
from nagaya.infrastructure.proxmox.cluster.seen import BY_NAME, BY_SECRET
from nagaya.infrastructure.proxmox.connection.secrets import CredentialsSecret
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class OfConnection:
    """The clusters that use a connection, or may come to. Those without a reference are concerned by any."""

    cache: Cache

    def __call__(self, change: Change[ProxmoxConnection]) -> Iterable[Key]:
        old, new = change
        if old is not None and new is not None and old.status == new.status and old.spec == new.spec:
            return ()
        namespace, name = change.object.metadata.namespace, change.object.metadata.name
        return [Key.of(each) for each in self.cache.list(PROXMOX_CLUSTERS, namespace) if _concerns(each, name)]


def _concerns(proxmox: ProxmoxCluster, connection: str) -> bool:
    named = proxmox.spec.connection_ref
    return named.name == connection if named is not None else proxmox.spec.credentials_ref is None


@dataclass(frozen=True, slots=True)
class OfSecret:
    """The clusters that use a Secret as it is."""

    cache: Cache

    def __call__(self, change: Change[CredentialsSecret]) -> Iterable[Key]:
        return [Key.of(each) for each in self.cache.by(PROXMOX_CLUSTERS, BY_SECRET, str(Key.of(change.object)))]


@dataclass(frozen=True, slots=True)
class OfMachine:
    """The cluster of a machine that came, went, or has another place."""

    cache: Cache

    def __call__(self, change: Change[ProxmoxMachine]) -> Iterable[Key]:
        old, new = change
        if old is not None and new is not None and old.status.proxmox_node == new.status.proxmox_node:
            return ()
        return _named(self.cache, change)


@dataclass(frozen=True, slots=True)
class OfAddress:
    """The cluster that an address may be for."""

    cache: Cache

    def __call__(self, change: Change[IPAddress]) -> Iterable[Key]:
        return _named(self.cache, change)


def _named(cache: Cache, change: Change[Any]) -> Iterable[Key]:
    """The ProxmoxCluster of the Cluster that a label names, be that there or gone."""
    metadata = change.object.metadata
    name = metadata.labels.get(CLUSTER_NAME)
    if not name:
        return ()
    return [Key.of(each) for each in cache.by(PROXMOX_CLUSTERS, BY_NAME, f"{metadata.namespace}/{name}")]


def of_cluster(change: Change[Cluster]) -> Iterable[Key]:
    """The ProxmoxCluster that a Cluster refers to, if its wishes changed or it goes."""
    old, new = change
    wish = None if old is None else (old.spec, old.metadata.deleting)
    if new is not None and wish == (new.spec, new.metadata.deleting):
        return ()
    reference = change.object.spec.infrastructure_ref
    if reference is None or (reference.api_group, reference.kind) != (PROXMOX_CLUSTERS.group, PROXMOX_CLUSTERS.kind):
        return ()
    return (Key(change.object.metadata.namespace, reference.name),)
