"""Which machines a change concerns: by the Cluster, the makers, the objects of providers and the Nodes behind them.

Many objects change often in ways that no machine cares about: a Cluster counts machines in its status, a MachineSet
too. If all its machines were looked at each time, n machines would cause n times n looks. So only changes of what a
plan reads are taken for news.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_drain_rule import MachineDrainRule
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import keep
from nagaya.clusters.news import changed_kind, is_news
from nagaya.clusters.node import Node
from nagaya.core.machine.seen import BY_CLUSTER
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import get
from nagaya.kube.contract_kinds import Definition
from nagaya.kube.key import Key

_BY_DEPLOYMENT: Final = "machine controller: deployment"
_BY_REFERENCE: Final = "machine controller: reference"
_BY_REFERENCED_KIND: Final = "machine controller: referenced kind"
_BY_NODE: Final = "machine controller: node"


class Machines:
    """The machines in a cache, found by what they depend on."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        keep(cache, [MACHINES])
        cache.add_index(MACHINES, BY_CLUSTER, lambda each: (str(_cluster(each)),))
        cache.add_index(MACHINES, _BY_DEPLOYMENT, _deployments)
        cache.add_index(MACHINES, _BY_REFERENCE, _references)
        cache.add_index(MACHINES, _BY_REFERENCED_KIND, _referenced_kinds)
        cache.add_index(MACHINES, _BY_NODE, _nodes)

    def of_cluster(self, change: Change[Cluster]) -> Iterable[Key]:
        """All machines of a Cluster, if what changed concerns them."""
        if not is_news(change, _of_cluster):
            return ()
        return self.in_cluster(Key.of(change.object))

    def in_cluster(self, cluster: Key) -> Iterable[Key]:
        """All machines of a Cluster."""
        return self._by(BY_CLUSTER, str(cluster))

    def of_machine_set(self, change: Change[MachineSet]) -> Iterable[Key]:
        """All machines that a MachineSet owns, if what changed concerns them."""
        if not is_news(change, _of_machine_set):
            return ()
        return [Key.of(each) for each in self._cache.owned(MACHINES, change.object.metadata.uid)]

    def of_machine_deployment(self, change: Change[MachineDeployment]) -> Iterable[Key]:
        """All machines of a MachineDeployment, if what changed concerns them."""
        return self._by(_BY_DEPLOYMENT, str(Key.of(change.object))) if is_news(change, _of_deployment) else ()

    def of_provider(self, change: Change[Untyped]) -> Iterable[Key]:
        """The machine that refers to an object, whoever owns that at present."""
        obj = change.object
        group = obj.api_version.rpartition("/")[0]
        return self._by(_BY_REFERENCE, _reference(group, obj.kind, Key.of(obj)))

    def of_definition(self, change: Change[Definition]) -> Iterable[Key]:
        """All machines that refer to an object of a kind, if the kind is new or served differently."""
        kind = changed_kind(change)
        return self._by(_BY_REFERENCED_KIND, kind) if kind else ()

    def of_drain_rule(self, change: Change[MachineDrainRule]) -> Iterable[Key]:
        """The machines that may be drained by a rule at this moment."""
        machines = self._cache.list(MACHINES, change.object.metadata.namespace)
        return [Key.of(each) for each in machines if each.metadata.deleting]

    def of_node(self, cluster: Key, change: Change[Node]) -> Iterable[Key]:
        """The machines that a Node of a tenant runs on, unless it only says that it still does."""
        if not is_news(change, _of_node):
            return ()
        keys: dict[Key, None] = {}
        for node in (change.new, change.old):
            if node is not None:
                keys.update(dict.fromkeys(self._by(_BY_NODE, f"{cluster} named {node.metadata.name}")))
                keys.update(dict.fromkeys(self._by(_BY_NODE, f"{cluster} with id {node.spec.provider_id}")))
        return keys

    def _by(self, index: str, value: str) -> list[Key]:
        return [Key.of(each) for each in self._cache.by(MACHINES, index, value)]


def _of_cluster(cluster: Cluster) -> tuple[object, ...]:
    status = cluster.status
    initialized = get(status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED)
    return (
        cluster.spec.paused,
        cluster.spec.control_plane_ref,
        cluster.metadata.deleting,
        status.initialization.infrastructure_provisioned,
        None if initialized is None else (initialized.status, initialized.last_transition_time),
    )


def _of_machine_set(machine_set: MachineSet) -> tuple[object, ...]:
    metadata = machine_set.metadata
    made_for = metadata.labels.get(labels.MACHINE_DEPLOYMENT_NAME)
    return machine_set.spec.template, metadata.annotations.get(REVISION), made_for


def _of_deployment(deployment: MachineDeployment) -> tuple[object, ...]:
    spec = deployment.spec
    return spec.template, spec.rollout.after, deployment.metadata.annotations.get(REVISION)


def _of_node(node: Node) -> tuple[object, ...]:
    metadata = node.metadata
    return node.spec, node.status, metadata.labels, metadata.annotations, metadata.deleting


def _cluster(machine: Machine) -> Key:
    return Key(machine.metadata.namespace, machine.spec.cluster_name)


def _deployments(machine: Machine) -> Iterable[str]:
    name = machine.metadata.labels.get(labels.MACHINE_DEPLOYMENT_NAME)
    return (str(Key(machine.metadata.namespace, name)),) if name else ()


def _references(machine: Machine) -> Iterable[str]:
    namespace = machine.metadata.namespace
    spec = machine.spec
    return [
        _reference(each.api_group, each.kind, Key(namespace, each.name))
        for each in (spec.bootstrap.config_ref, spec.infrastructure_ref)
        if each is not None
    ]


def _referenced_kinds(machine: Machine) -> Iterable[str]:
    spec = machine.spec
    named = (spec.bootstrap.config_ref, spec.infrastructure_ref)
    return [f"{each.kind}.{each.api_group}" for each in named if each is not None]


def _nodes(machine: Machine) -> Iterable[str]:
    cluster, known = _cluster(machine), machine.status.node_ref
    found = [f"{cluster} named {known.name}"] if known is not None else []
    if machine.spec.provider_id:
        found.append(f"{cluster} with id {machine.spec.provider_id}")
    return found


def _reference(group: str, kind: str, key: Key) -> str:
    return f"{kind}.{group} {key}"
