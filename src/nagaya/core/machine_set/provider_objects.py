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
from nagaya.api.contract.provider import ControlPlane, Provider
from nagaya.api.contract.template import SUFFIX
from nagaya.api.contract.versions import NoContract
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters import owners
from nagaya.clusters.external import look_up, served
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds, NotInstalled
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime


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

    templates: tuple[Kind[Untyped], ...]
    made: tuple[Kind[Untyped], ...]
    control_plane: Kind[Untyped] | None

    @property
    def all(self) -> tuple[Kind[Untyped], ...]:
        """All of them."""
        return (*self.templates, *self.made, *([self.control_plane] if self.control_plane else []))


def provider_kinds(rt: Runtime, machine_set: MachineSet) -> ProviderKinds:
    """Which kinds those are. Those that nobody serves are left out."""
    spec = machine_set.spec
    wanted = [spec.template.spec.infrastructure_ref]
    if spec.template.spec.bootstrap.config_ref is not None:
        wanted.append(spec.template.spec.bootstrap.config_ref)
    kinds_of = KindsOf(rt.kinds)
    templates = {kinds_of[each.api_group, each.kind]: None for each in wanted}
    made = {kinds_of[each.api_group, each.kind.removesuffix(SUFFIX)]: None for each in wanted}
    for machine in rt.cache.owned(MACHINES, machine_set.metadata.uid):
        made |= {kinds_of[each.api_group, each.kind]: None for each in _references(machine)}
    cluster = rt.cache.get(CLUSTERS, Key(machine_set.metadata.namespace, spec.cluster_name))
    ref = None if cluster is None else cluster.spec.control_plane_ref
    return ProviderKinds(
        tuple(each for each in templates if each is not None),
        tuple(each for each in made if each is not None),
        None if ref is None else kinds_of[ref.api_group, ref.kind],
    )


def template_of(rt: Runtime, reference: ContractReference, namespace: str) -> Template:
    """The template that a reference means."""
    found = look_up(rt, namespace, reference, Provider)
    if found.kind is None:
        return Template(reference, problem=found.problem)
    made, problem = None, found.problem
    try:
        made = rt.kinds.resolve(reference.api_group, reference.kind.removesuffix(SUFFIX)).kind
    except (NotInstalled, NoContract) as error:
        problem = str(error)
    return Template(reference, found.kind, made, None if found.provider is None else found.provider.object, problem)


class KindsOf(dict[tuple[str, str], Kind[Untyped] | None]):
    """The kinds that references mean, each asked for once: machines of a set mostly mean the same."""

    def __init__(self, kinds: ContractKinds) -> None:
        super().__init__()
        self._kinds = kinds

    def __missing__(self, name: tuple[str, str]) -> Kind[Untyped] | None:
        kind = self[name] = served(self._kinds, *name)
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
            owners.is_a(each, MACHINE_SETS) and each.uid == machine_set.metadata.uid
            for each in obj.metadata.owner_references
        )
        if owned and obj.metadata.namespace == machine_set.metadata.namespace:
            yield Made(kind, obj)


def control_plane_of(rt: Runtime, cluster: Cluster | None) -> tuple[ControlPlane | None, str]:
    """The control plane of a cluster; else why it cannot be looked at, which is empty if there is to be none."""
    reference = None if cluster is None else cluster.spec.control_plane_ref
    if cluster is None or reference is None:
        return None, ""
    found = look_up(rt, cluster.metadata.namespace, reference, ControlPlane)
    if found.provider is None:
        return None, found.problem or f'{found.kind} "{reference.name}" not found'
    return found.provider, ""
