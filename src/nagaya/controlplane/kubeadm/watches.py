"""Which changes of other objects concern which control planes.

A Cluster's status is written often; only what a plan or a status depends on counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.api.contract.template import SUFFIX
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.api.untyped import Untyped
from nagaya.clusters.news import changed_kind, is_news
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import DEFINITIONS, Definition
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner
from nagaya.kube.tenant_secrets import TENANT_SECRETS


def watches(cache: Cache) -> tuple[Watch, ...]:
    """The kinds that are known beforehand."""
    return (
        Watch(MACHINES, owner(KUBEADM_CONTROL_PLANES)),
        Watch(MACHINES, OfOthers(cache)),
        Watch(MACHINE_POOLS, OfOthers(cache)),
        Watch(KUBEADM_CONFIGS, OfConfig(cache)),
        Watch(CLUSTERS, of_cluster),
        Watch(TENANT_SECRETS, owner(KUBEADM_CONTROL_PLANES)),
        Watch(DEFINITIONS, OfKind(cache)),
    )


def of_cluster(change: Change[Cluster]) -> Iterable[Key]:
    """The control plane of a Cluster, unless nothing changed that it depends on."""

    def facts(cluster: Cluster) -> object:
        metadata, status = cluster.metadata, cluster.status
        started = status.initialization.infrastructure_provisioned
        return (metadata.annotations, metadata.uid, cluster.spec, started, status.failure_domains)

    if not is_news(change, facts):
        return ()
    reference = change.object.spec.control_plane_ref
    if reference is None or (reference.api_group, reference.kind) != (
        KUBEADM_CONTROL_PLANES.group,
        KUBEADM_CONTROL_PLANES.kind,
    ):
        return ()
    return (Key(change.object.metadata.namespace, reference.name),)


@dataclass(frozen=True, slots=True)
class OfOthers:
    """Machines and pools that are not the control plane's matter when they come or go: it may adopt them, and it
    outlives them."""

    cache: Cache

    def __call__(self, change: Change[Any]) -> Iterable[Key]:
        """The control plane of their cluster."""
        if not is_news(change, lambda each: (each.metadata.labels, each.metadata.owner_references)):
            return ()
        obj = change.object
        if isinstance(obj, Machine) and label.CONTROL_PLANE not in obj.metadata.labels and change.new is not None:
            return ()
        return of_cluster_named(self.cache, obj.metadata.namespace, obj.metadata.labels.get(label.CLUSTER_NAME))


@dataclass(frozen=True, slots=True)
class OfConfig:
    """What the KubeadmConfig of a machine says decides whether the machine is as declared."""

    cache: Cache

    def __call__(self, change: Change[KubeadmConfig]) -> Iterable[Key]:
        """The control plane of its cluster, unless nothing changed but its status."""
        config = change.object
        if label.CONTROL_PLANE not in config.metadata.labels:
            return ()
        if not is_news(change, lambda each: (each.spec, each.metadata.labels, each.metadata.annotations)):
            return ()
        return of_cluster_named(self.cache, config.metadata.namespace, config.metadata.labels.get(label.CLUSTER_NAME))


@dataclass(frozen=True, slots=True)
class OfTemplate:
    """A template that machines are made from came, went, or lost its owner."""

    cache: Cache

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        """The control planes that use it."""
        template = change.object
        group = template.api_version.rpartition("/")[0]
        for each in self.cache.list(KUBEADM_CONTROL_PLANES, template.metadata.namespace):
            reference = each.spec.machine_template.spec.infrastructure_ref
            if (reference.api_group, reference.kind, reference.name) == (group, template.kind, template.metadata.name):
                yield Key.of(each)


@dataclass(frozen=True, slots=True)
class OfKind:
    """A provider was installed, upgraded or removed."""

    cache: Cache

    def __call__(self, change: Change[Definition]) -> Iterable[Key]:
        """The control planes that use the kind, or a template of it."""
        kind = changed_kind(change)
        if not kind:
            return
        for each in self.cache.list(KUBEADM_CONTROL_PLANES):
            reference = each.spec.machine_template.spec.infrastructure_ref
            made = reference.kind.removesuffix(SUFFIX)
            if kind in (f"{reference.kind}.{reference.api_group}", f"{made}.{reference.api_group}"):
                yield Key.of(each)


def of_cluster_named(cache: Cache, namespace: str, name: str | None) -> Iterable[Key]:
    """The control plane of a cluster, if it is one of ours."""
    cluster = cache.get(CLUSTERS, Key(namespace, name)) if name else None
    reference = None if cluster is None else cluster.spec.control_plane_ref
    if reference is None or reference.kind != KUBEADM_CONTROL_PLANES.kind:
        return ()
    return (Key(namespace, reference.name),)
