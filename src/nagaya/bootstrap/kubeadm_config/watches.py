"""Which changes of other objects concern which KubeadmConfigs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS, KubeadmConfig
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_pool import MACHINE_POOLS, MachinePool
from nagaya.api.kind import Kind
from nagaya.bootstrap.kubeadm_config.config_owner import of_machine, of_pool
from nagaya.clusters.external import keep
from nagaya.clusters.news import is_news
from nagaya.clusters.owners import is_a
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import get
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner
from nagaya.kube.tenant_secrets import TENANT_SECRETS

_BY_OWNER: Final = "kubeadm configs of a machine"
_MACHINES_OF_CLUSTER: Final = "machines with kubeadm configs of a cluster"
_POOLS_OF_CLUSTER: Final = "machine pools of a cluster"


class Configs:
    """The KubeadmConfigs in a cache, found by what they depend on."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        kinds: tuple[Kind[Any], ...] = (KUBEADM_CONFIGS, MACHINES, MACHINE_POOLS, CLUSTERS)
        keep(cache, kinds)
        cache.add_index(KUBEADM_CONFIGS, _BY_OWNER, _owners)
        cache.add_index(MACHINES, _MACHINES_OF_CLUSTER, lambda each: (_place(each, each.spec.cluster_name),))
        cache.add_index(MACHINE_POOLS, _POOLS_OF_CLUSTER, lambda each: (_place(each, each.spec.cluster_name),))

    @property
    def watches(self) -> tuple[Watch, ...]:
        """Everything that is heard of."""
        return (
            Watch(MACHINES, self.of_machine),
            Watch(MACHINE_POOLS, self.of_pool),
            Watch(CLUSTERS, self.of_cluster),
            Watch(TENANT_SECRETS, owner(KUBEADM_CONFIGS)),
        )

    def of_machine(self, change: Change[Machine]) -> Iterable[Key]:
        """Those of a Machine, unless nothing changed that they know of."""
        return self._of(MACHINES.kind, change.object) if is_news(change, of_machine) else ()

    def of_pool(self, change: Change[MachinePool]) -> Iterable[Key]:
        """Those of a MachinePool, unless nothing changed that they know of."""
        return self._of(MACHINE_POOLS.kind, change.object) if is_news(change, of_pool) else ()

    def of_cluster(self, change: Change[Cluster]) -> Iterable[Key]:
        """Those of a Cluster, unless nothing changed that they know of."""
        return self.in_cluster(Key.of(change.object)) if is_news(change, _of_cluster) else ()

    def in_cluster(self, cluster: Key) -> list[Key]:
        """All of a cluster."""
        machines = self._cache.by(MACHINES, _MACHINES_OF_CLUSTER, str(cluster))
        pools = self._cache.by(MACHINE_POOLS, _POOLS_OF_CLUSTER, str(cluster))
        found = [key for each in machines for key in self._of(MACHINES.kind, each)]
        return found + [key for each in pools for key in self._of(MACHINE_POOLS.kind, each)]

    def _of(self, kind: str, obj: Machine | MachinePool) -> list[Key]:
        metadata = obj.metadata
        return [
            Key.of(each)
            for each in self._cache.by(
                KUBEADM_CONFIGS, _BY_OWNER, _owner_place(kind, metadata.namespace, metadata.name)
            )
        ]


def _of_cluster(cluster: Cluster) -> object:
    told = get(cluster.status.conditions, "ControlPlaneInitialized")
    provisioned = cluster.status.initialization.infrastructure_provisioned
    return cluster.metadata.uid, cluster.spec, provisioned, None if told is None else told.status


def _owners(config: KubeadmConfig) -> Iterable[str]:
    for each in config.metadata.owner_references:
        if is_a(each, MACHINES) or is_a(each, MACHINE_POOLS):
            yield _owner_place(each.kind, config.metadata.namespace, each.name)


def _owner_place(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}"


def _place(obj: Machine | MachinePool, cluster: str) -> str:
    return str(Key(obj.metadata.namespace, cluster))
