"""What brings a deployment to its controller's attention, and the indexes that find it.

Of each change only what matters to deployments counts: the status of a Cluster, which changes all the time, wakes none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.name_template import RANDOM_LENGTH
from nagaya.api.untyped import Untyped
from nagaya.clusters.news import changed_kind, is_news
from nagaya.core.machine_deployment.seen import ORPHANS, STEMS, selector_of
from nagaya.core.machine_deployment.templates import references
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import Definition
from nagaya.kube.key import Key

_BY_CLUSTER: Final = "cluster"
_BY_TEMPLATE: Final = "templates"
_BY_TEMPLATE_KIND: Final = "kinds of templates"
"""Indexes of MachineDeployments."""


def add_indexes(cache: Cache) -> None:
    """Make deployments and MachineSets findable. Both must be in the cache."""
    cache.add_index(MACHINE_SETS, ORPHANS, _namespace_of_orphan)
    cache.add_index(MACHINE_SETS, STEMS, _stem)
    cache.add_index(MACHINE_DEPLOYMENTS, _BY_CLUSTER, _cluster)
    cache.add_index(MACHINE_DEPLOYMENTS, _BY_TEMPLATE, _templates)
    cache.add_index(MACHINE_DEPLOYMENTS, _BY_TEMPLATE_KIND, _template_kinds)


@dataclass(frozen=True, slots=True)
class WhoMayAdopt:
    """The deployments whose selector matches a MachineSet that nobody controls."""

    cache: Cache

    def __call__(self, change: Change[MachineSet]) -> Iterable[Key]:
        new = change.new
        if new is None or new.metadata.controller is not None or not new.metadata.labels:
            return ()
        found = []
        for each in self.cache.list(MACHINE_DEPLOYMENTS, new.metadata.namespace):
            selector, _ = selector_of(each)
            if selector is not None and selector.matches(new.metadata.labels):
                found.append(Key.of(each))
        return found


@dataclass(frozen=True, slots=True)
class OfCluster:
    """The deployments of a Cluster that came, went, or was paused or resumed. Nothing else of it matters."""

    cache: Cache

    def __call__(self, change: Change[Cluster]) -> Iterable[Key]:
        if not is_news(change, lambda each: bool(each.spec.paused)):
            return ()
        key = Key.of(change.object)
        return [Key.of(each) for each in self.cache.by(MACHINE_DEPLOYMENTS, _BY_CLUSTER, str(key))]


@dataclass(frozen=True, slots=True)
class OfTemplate:
    """The deployments that refer to a template which came, went, or changed owners."""

    cache: Cache
    kind: str

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        if not is_news(change, lambda each: each.metadata.owner_references):
            return ()
        name = f"{self.kind}/{Key.of(change.object)}"
        return [Key.of(each) for each in self.cache.by(MACHINE_DEPLOYMENTS, _BY_TEMPLATE, name)]


@dataclass(frozen=True, slots=True)
class OfTemplateKind:
    """The deployments that refer to templates of a kind which somebody installed, changed or removed."""

    cache: Cache

    def __call__(self, change: Change[Definition]) -> Iterable[Key]:
        kind = changed_kind(change)
        return [Key.of(each) for each in self.cache.by(MACHINE_DEPLOYMENTS, _BY_TEMPLATE_KIND, kind)] if kind else ()


def _namespace_of_orphan(machine_set: MachineSet) -> Iterable[str]:
    return (machine_set.metadata.namespace,) if machine_set.metadata.controller is None else ()


def _stem(machine_set: MachineSet) -> Iterable[str]:
    return (f"{machine_set.metadata.namespace}/{machine_set.metadata.name[:-RANDOM_LENGTH]}",)


def _cluster(deployment: MachineDeployment) -> Iterable[str]:
    return (str(Key(deployment.metadata.namespace, deployment.spec.cluster_name)),)


def _templates(deployment: MachineDeployment) -> Iterable[str]:
    namespace = deployment.metadata.namespace
    return [f"{each.kind}.{each.api_group}/{Key(namespace, each.name)}" for each in references(deployment)]


def _template_kinds(deployment: MachineDeployment) -> Iterable[str]:
    return [f"{each.kind}.{each.api_group}" for each in references(deployment)]
