"""Which changes of other objects concern which MachineSets.

Only changes that could alter a plan or a status count: a Cluster's status, for example, is written often and means
nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.admission.selector import InvalidSelector
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import SUFFIX
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import keep
from nagaya.clusters.news import changed_kind, is_news
from nagaya.core.machine_set.seen import UNCONTROLLED, selector_of, uncontrolled
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import DEFINITIONS, Definition
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key
from nagaya.kube.mapping import owner

_BY_CLUSTER: Final = "machine sets of a cluster"
_BY_DEPLOYMENT: Final = "machine sets of a deployment"
_BY_TEMPLATE: Final = "machine sets that use a template"
_BY_KIND: Final = "machine sets that use a kind"


def add_indexes(cache: Cache) -> None:
    """What the mappings and the look at a set need to find things."""
    kinds: tuple[Kind[Any], ...] = (CLUSTERS, MACHINES, MACHINE_DEPLOYMENTS, MACHINE_SETS)
    keep(cache, kinds)
    cache.add_index(MACHINES, UNCONTROLLED, uncontrolled)
    cache.add_index(MACHINE_SETS, _BY_CLUSTER, lambda each: (_place(each, each.spec.cluster_name),))
    cache.add_index(MACHINE_SETS, _BY_DEPLOYMENT, _deployment)
    cache.add_index(MACHINE_SETS, _BY_TEMPLATE, lambda each: {_template_place(each, ref) for ref in _references(each)})
    cache.add_index(MACHINE_SETS, _BY_KIND, lambda each: {place for ref in _references(each) for place in _kinds(ref)})


def watches(cache: Cache) -> tuple[Watch, ...]:
    """The kinds that are known beforehand."""
    return (
        Watch(MACHINES, owner(MACHINE_SETS)),
        Watch(MACHINES, SetsThatMayAdopt(cache)),
        Watch(MACHINE_DEPLOYMENTS, SetsOfDeployment(cache)),
        Watch(CLUSTERS, SetsOfCluster(cache)),
        Watch(DEFINITIONS, SetsThatUseKind(cache)),
    )


@dataclass(frozen=True, slots=True)
class SetsThatMayAdopt:
    """A Machine that nobody controls may belong to any set of its cluster that selects it."""

    cache: Cache

    def __call__(self, change: Change[Machine]) -> Iterable[Key]:
        """The keys of those sets."""
        machine = change.object
        cluster = machine.metadata.labels.get(label.CLUSTER_NAME)
        if machine.metadata.controller is not None or not cluster:
            return ()
        sets = self.cache.by(MACHINE_SETS, _BY_CLUSTER, _place(machine, cluster))
        return [Key.of(each) for each in sets if _selects(each, machine)]


@dataclass(frozen=True, slots=True)
class SetsOfDeployment:
    """A MachineDeployment limits remediations and says which revision is the newest."""

    cache: Cache

    def __call__(self, change: Change[MachineDeployment]) -> Iterable[Key]:
        """The keys of its sets, unless nothing changed but its status."""
        if not is_news(change, lambda each: (each.metadata.annotations, each.metadata.generation)):
            return ()
        found = change.object
        return _keys(self.cache.by(MACHINE_SETS, _BY_DEPLOYMENT, _place(found, found.metadata.name)))


@dataclass(frozen=True, slots=True)
class SetsOfCluster:
    """A Cluster pauses its sets, and says where the control plane is."""

    cache: Cache

    def __call__(self, change: Change[Cluster]) -> Iterable[Key]:
        """The keys of its sets, unless nothing changed but its status."""
        if not is_news(change, lambda each: (each.metadata.annotations, each.metadata.uid, each.spec)):
            return ()
        found = change.object
        return _keys(self.cache.by(MACHINE_SETS, _BY_CLUSTER, _place(found, found.metadata.name)))


@dataclass(frozen=True, slots=True)
class SetsOfControlPlane:
    """A control plane says which version machines may have, and when."""

    cache: Cache

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        """The keys of the sets of its cluster, unless no version changed."""
        if not is_news(change, _versions):
            return ()
        found = change.object
        names = {each.name for each in found.metadata.owner_references if each.kind == CLUSTERS.kind}
        if labelled := found.metadata.labels.get(label.CLUSTER_NAME):
            names.add(labelled)
        sets = [each for name in names for each in self.cache.by(MACHINE_SETS, _BY_CLUSTER, _place(found, name))]
        return _keys(sets)


@dataclass(frozen=True, slots=True)
class SetsOfTemplate:
    """A template that machines are made from came, went, or lost its owner."""

    cache: Cache
    kind: Kind[Untyped]

    def __call__(self, change: Change[Untyped]) -> Iterable[Key]:
        """The keys of the sets that use it."""
        found = change.object
        place = f"{self.kind.kind}.{self.kind.group}/{_place(found, found.metadata.name)}"
        return _keys(self.cache.by(MACHINE_SETS, _BY_TEMPLATE, place))


@dataclass(frozen=True, slots=True)
class SetsThatUseKind:
    """A provider was installed, upgraded or removed."""

    cache: Cache

    def __call__(self, change: Change[Definition]) -> Iterable[Key]:
        """The keys of the sets that use the kind."""
        kind = changed_kind(change)
        if not kind:
            return ()
        sets = self.cache.by(MACHINE_SETS, _BY_KIND, kind)
        for cluster in self.cache.list(CLUSTERS):
            ref = cluster.spec.control_plane_ref
            if ref is not None and f"{ref.kind}.{ref.api_group}" == kind:
                sets += self.cache.by(MACHINE_SETS, _BY_CLUSTER, _place(cluster, cluster.metadata.name))
        return _keys(sets)


def _keys(sets: Iterable[MachineSet]) -> list[Key]:
    return [Key.of(each) for each in sets]


def _selects(machine_set: MachineSet, machine: Machine) -> bool:
    try:
        return selector_of(machine_set).matches(machine.metadata.labels)
    except InvalidSelector:
        return False


def _place(obj: Any, name: str) -> str:
    return f"{obj.metadata.namespace}/{name}"


def _deployment(machine_set: MachineSet) -> tuple[str, ...]:
    name = machine_set.metadata.labels.get(label.MACHINE_DEPLOYMENT_NAME)
    return (_place(machine_set, name),) if name else ()


def _references(machine_set: MachineSet) -> list[ContractReference]:
    spec = machine_set.spec.template.spec
    return [each for each in (spec.bootstrap.config_ref, spec.infrastructure_ref) if each is not None]


def _template_place(machine_set: MachineSet, reference: ContractReference) -> str:
    return f"{reference.kind}.{reference.api_group}/{_place(machine_set, reference.name)}"


def _kinds(reference: ContractReference) -> tuple[str, str]:
    group = reference.api_group
    return f"{reference.kind}.{group}", f"{reference.kind.removesuffix(SUFFIX)}.{group}"


def _versions(control_plane: Untyped) -> tuple[Any, ...]:
    at = control_plane.at
    return at("spec", "version"), at("status", "version"), at("status", "versions")
