"""Which changes of other objects concern which MachineHealthChecks.

Machines and Nodes say much that no health check asks for. Only what a check reads is news for it: otherwise n machines
that come up together would be looked at n times each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.api.admission.selector import InvalidSelector, read
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_health_check import MACHINE_HEALTH_CHECKS, MachineHealthCheck
from nagaya.api.contract.template import SUFFIX
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import keep
from nagaya.clusters.news import is_news
from nagaya.clusters.node import Node
from nagaya.core.machine_health_check.seen import BY_CLUSTER_LABEL, cluster_label
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.conditions import get
from nagaya.kube.contract_kinds import Definition
from nagaya.kube.key import Key

_BY_CLUSTER: Final = "cluster"
_BY_TEMPLATE: Final = "remediation template"
_BY_KIND: Final = "kind of remediation"
_BY_NODE: Final = "node, for health checks"
_OF_CLUSTER: Final = (ClusterCondition.CONTROL_PLANE_INITIALIZED, ClusterCondition.INFRASTRUCTURE_READY)
_OF_MACHINE: Final = (
    MachineCondition.INFRASTRUCTURE_READY,
    MachineCondition.HEALTH_CHECK_SUCCEEDED,
    MachineCondition.OWNER_REMEDIATED,
    MachineCondition.EXTERNALLY_REMEDIATED,
)


class Checks:
    """The checks in a cache, found by what they depend on."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        keep(cache, (MACHINE_HEALTH_CHECKS, MACHINES, CLUSTERS))
        cache.add_index(MACHINES, BY_CLUSTER_LABEL, cluster_label)
        cache.add_index(MACHINES, _BY_NODE, _node)
        cache.add_index(MACHINE_HEALTH_CHECKS, _BY_CLUSTER, lambda each: (str(_cluster(each)),))
        cache.add_index(MACHINE_HEALTH_CHECKS, _BY_TEMPLATE, _template)
        cache.add_index(MACHINE_HEALTH_CHECKS, _BY_KIND, _kinds)

    def in_cluster(self, cluster: Key) -> list[Key]:
        """All checks of a cluster."""
        return [Key.of(each) for each in self._of(cluster)]

    def of_cluster(self, change: Change[Cluster]) -> Iterable[Key]:
        """All checks of a Cluster that came, went, was paused, or may be judged from now on."""
        if not is_news(change, _facts_of_cluster):
            return ()
        return self.in_cluster(Key.of(change.object))

    def of_machine(self, change: Change[Machine]) -> Iterable[Key]:
        """The checks that select a Machine, or did so before, if something changed that they ask for."""
        old, new = change
        found: dict[Key, None] = {}
        for machine in (new, old):
            if machine is None:
                continue
            for check in self._of(Key(machine.metadata.namespace, machine.spec.cluster_name)):
                if _selects(check, machine) and _facts_of_machine(old, check) != _facts_of_machine(new, check):
                    found[Key.of(check)] = None
        return found

    def of_node(self, cluster: Key, change: Change[Node]) -> Iterable[Key]:
        """The checks of the machine that a Node of a tenant runs on, unless its conditions are what they were."""
        if not is_news(change, lambda node: node.status.conditions):
            return ()
        machines = self._cache.by(MACHINES, _BY_NODE, f"{cluster} {change.object.metadata.name}")
        return {Key.of(check): None for machine in machines for check in self._of(cluster) if _selects(check, machine)}

    def of_definition(self, change: Change[Definition]) -> Iterable[Key]:
        """The checks whose external remediation uses a kind that was installed or removed."""
        if change.old is not None and change.new is not None:
            return ()
        spec = change.object.spec
        name = f"{spec.names.kind}.{spec.group}"
        return [Key.of(each) for each in self._cache.by(MACHINE_HEALTH_CHECKS, _BY_KIND, name)]

    def _of(self, cluster: Key) -> list[MachineHealthCheck]:
        return self._cache.by(MACHINE_HEALTH_CHECKS, _BY_CLUSTER, str(cluster))


@dataclass(frozen=True, slots=True)
class ChecksOfTemplate:
    """A template of remediation requests came or went."""

    cache: Cache
    kind: str

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        """The checks that use it."""
        if change.old is not None and change.new is not None:
            return ()
        place = f"{self.kind} {Key.of(change.object)}"
        return [Key.of(each) for each in self.cache.by(MACHINE_HEALTH_CHECKS, _BY_TEMPLATE, place)]


def _facts_of_cluster(cluster: Cluster) -> tuple[object, ...]:
    known = [get(cluster.status.conditions, type) for type in _OF_CLUSTER]
    moments = [None if each is None else (each.status, each.last_transition_time) for each in known]
    return cluster.spec.paused, cluster.metadata.uid, *moments


def _facts_of_machine(machine: Machine | None, check: MachineHealthCheck) -> tuple[object, ...]:
    if machine is None:
        return ()
    metadata = machine.metadata
    types = (*_OF_MACHINE, *(each.type for each in check.spec.checks.unhealthy_machine_conditions))
    return (
        machine.status.node_ref,
        metadata.labels,
        metadata.annotations,
        metadata.deleting,
        metadata.uid,
        *(get(machine.status.conditions, type) for type in types),
    )


def _selects(check: MachineHealthCheck, machine: Machine) -> bool:
    try:
        return read(check.spec.selector).matches(machine.metadata.labels)
    except InvalidSelector:
        return False


def _cluster(check: MachineHealthCheck) -> Key:
    return Key(check.metadata.namespace, check.spec.cluster_name)


def _node(machine: Machine) -> tuple[str, ...]:
    reference = machine.status.node_ref
    cluster = Key(machine.metadata.namespace, machine.spec.cluster_name)
    return (f"{cluster} {reference.name}",) if reference is not None else ()


def _template(check: MachineHealthCheck) -> tuple[str, ...]:
    reference = check.spec.remediation.template_ref
    if reference is None:
        return ()
    group = reference.api_version.rpartition("/")[0]
    return (f"{reference.kind}.{group} {Key(check.metadata.namespace, reference.name)}",)


def _kinds(check: MachineHealthCheck) -> tuple[str, ...]:
    reference = check.spec.remediation.template_ref
    if reference is None:
        return ()
    group = reference.api_version.rpartition("/")[0]
    return f"{reference.kind}.{group}", f"{reference.kind.removesuffix(SUFFIX)}.{group}"
