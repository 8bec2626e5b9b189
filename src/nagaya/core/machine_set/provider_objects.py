"""The objects of providers that a MachineSet has to do with: templates, what was made from them, the control plane.

References name a group and a kind; which version is meant is found out here, and a kind that nobody serves becomes a
sentence for the user instead of an exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import ControlPlane
from nagaya.api.contract.template import SUFFIX
from nagaya.api.contract.versions import NoContract
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds, NotInstalled, Resolved
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class Template:
    """A template of a provider that every machine gets an object from."""

    reference: ContractReference
    kind: Kind[Untyped] | None = None
    """None if nobody serves it."""
    made: Kind[Untyped] | None = None
    """The kind of what is made from it."""
    object: Untyped | None = None
    problem: str = ""
    """Why one of the kinds is not known."""

    @property
    def missing(self) -> bool:
        """Whether there is no such template, although its kind is served."""
        return self.kind is not None and self.object is None


@dataclass(frozen=True, slots=True)
class Made:
    """An object of a provider that was made for a machine."""

    kind: Kind[Untyped]
    object: Untyped


@dataclass(frozen=True, slots=True)
class ProviderKinds:
    """The kinds of providers that have to be in the cache before a set is looked at."""

    templates: frozenset[Kind[Untyped]]
    made: frozenset[Kind[Untyped]]
    control_plane: Kind[Untyped] | None


def provider_kinds(cache: Cache, kinds: ContractKinds, machine_set: MachineSet) -> ProviderKinds:
    """Which kinds those are. Those that nobody serves are left out."""
    spec = machine_set.spec
    wanted = [spec.template.spec.infrastructure_ref]
    if spec.template.spec.bootstrap.config_ref is not None:
        wanted.append(spec.template.spec.bootstrap.config_ref)
    kinds_of = KindsOf(kinds)
    templates = {kinds_of[each.api_group, each.kind] for each in wanted}
    made = {kinds_of[each.api_group, each.kind.removesuffix(SUFFIX)] for each in wanted}
    for machine in cache.owned(MACHINES, machine_set.metadata.uid):
        made |= {kinds_of[each.api_group, each.kind] for each in _references(machine)}
    cluster = cache.get(CLUSTERS, Key(machine_set.metadata.namespace, spec.cluster_name))
    ref = None if cluster is None else cluster.spec.control_plane_ref
    return ProviderKinds(
        frozenset(each for each in templates if each is not None),
        frozenset(each for each in made if each is not None),
        None if ref is None else kinds_of[ref.api_group, ref.kind],
    )


def template_of(cache: Cache, kinds: ContractKinds, reference: ContractReference, namespace: str) -> Template:
    """The template that a reference means."""
    template, problem = _resolve(kinds, reference.api_group, reference.kind)
    made, problem_of_made = _resolve(kinds, reference.api_group, reference.kind.removesuffix(SUFFIX))
    if template is None:
        return Template(reference, problem=problem)
    return Template(
        reference,
        kind=template.kind,
        made=None if made is None else made.kind,
        object=cache.get(template.kind, Key(namespace, reference.name)),
        problem=problem_of_made,
    )


class KindsOf(dict[tuple[str, str], Kind[Untyped] | None]):
    """The kinds that references mean, each asked for once: machines of a set mostly mean the same."""

    def __init__(self, kinds: ContractKinds) -> None:
        super().__init__()
        self._kinds = kinds

    def __missing__(self, name: tuple[str, str]) -> Kind[Untyped] | None:
        found, _ = _resolve(self._kinds, *name)
        kind = self[name] = None if found is None else found.kind
        return kind


def objects_of(cache: Cache, kinds_of: KindsOf, machine: Machine) -> Iterator[Made]:
    """The objects that a machine refers to, as far as they are there."""
    for reference in _references(machine):
        kind = kinds_of[reference.api_group, reference.kind]
        if kind is None or not cache.has(kind):
            continue
        obj = cache.get(kind, Key(machine.metadata.namespace, reference.name))
        if obj is not None:
            yield Made(kind, obj)


def _references(machine: Machine) -> Iterator[ContractReference]:
    if machine.spec.bootstrap.config_ref is not None:
        yield machine.spec.bootstrap.config_ref
    yield machine.spec.infrastructure_ref


def made_by(cache: Cache, kind: Kind[Untyped], machine_set: MachineSet) -> Iterator[Made]:
    """The objects of a kind that still belong to the set itself."""
    for obj in cache.owned(kind, machine_set.metadata.uid):
        owned = any(
            each.kind == MACHINE_SETS.kind and each.uid == machine_set.metadata.uid
            for each in obj.metadata.owner_references
        )
        if owned and obj.metadata.namespace == machine_set.metadata.namespace:
            yield Made(kind, obj)


def control_plane_of(cache: Cache, kinds: ContractKinds, cluster: Cluster | None) -> tuple[ControlPlane | None, str]:
    """The control plane of a cluster; else why it cannot be looked at, which is empty if there is to be none."""
    reference = None if cluster is None else cluster.spec.control_plane_ref
    if cluster is None or reference is None:
        return None, ""
    found, problem = _resolve(kinds, reference.api_group, reference.kind)
    if found is None:
        return None, problem
    obj = cache.get(found.kind, Key(cluster.metadata.namespace, reference.name)) if cache.has(found.kind) else None
    if obj is None:
        return None, f'{found.kind} "{reference.name}" not found'
    return ControlPlane(obj, found.contract), ""


def _resolve(kinds: ContractKinds, group: str, kind: str) -> tuple[Resolved | None, str]:
    try:
        return kinds.resolve(group, kind), ""
    except (NotInstalled, NoContract) as problem:
        return None, str(problem)
