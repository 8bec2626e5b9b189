"""Everything that a plan for a MachineSet may depend on, read from the cache in one go.

Machines belong to a set if its selector chooses them and nobody else controls them. Objects of providers are found by
the references of machines and templates; those that the set made and no machine names are left over from a creation
that did not come to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from nagaya.api.admission.selector import InvalidSelector, Selector, read
from nagaya.api.cluster import labels as label
from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.contract.provider import ControlPlane
from nagaya.core.machine_set.provider_objects import (
    KindsOf,
    Made,
    Template,
    control_plane_of,
    made_by,
    objects_of,
    template_of,
)
from nagaya.kube.cache.cache import Cache
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

UNCONTROLLED: Final = "machines that nobody controls"
"""The index of Machines without a controller, by `namespace/name` of the Cluster that their label names."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A MachineSet and what it has to do with."""

    machine_set: MachineSet
    now: datetime
    cluster: Cluster | None = None
    deployment: MachineDeployment | None = None
    selector: Selector | None = None
    """None if it says nothing that could be understood."""
    selector_problem: str = ""
    machines: tuple[Machine, ...] = ()
    """Those of the set, by name, also those that nobody controls yet and those that are being deleted."""
    infrastructure: Template | None = None
    bootstrap: Template | None = None
    """None if machines bring their boot data along."""
    provider_objects: Mapping[str, tuple[Made, ...]] = field(default_factory=dict)
    """By the name of the machine."""
    unclaimed: tuple[Made, ...] = ()
    """What the set made for a machine that is not there."""
    control_plane: ControlPlane | None = None
    control_plane_problem: str = ""
    """Why the control plane cannot be looked at, although the cluster has one."""
    settled: bool = False
    """Whether the machines are known to have been brought in line with what the set says now."""

    @property
    def templates(self) -> Iterator[Template]:
        """What objects are cloned from, in the order in which that happens."""
        if self.bootstrap is not None:
            yield self.bootstrap
        if self.infrastructure is not None:
            yield self.infrastructure

    @property
    def of_deployment(self) -> bool:
        """Whether a MachineDeployment made the set."""
        return label.MACHINE_DEPLOYMENT_NAME in self.machine_set.metadata.labels

    @property
    def current(self) -> bool:
        """Whether the set has the newest template of its MachineDeployment."""
        if self.deployment is None:
            return False
        ours, newest = self.machine_set.metadata.annotations, self.deployment.metadata.annotations
        return ours.get(REVISION, "") == newest.get(REVISION, "")


def observe(rt: Runtime, machine_set: MachineSet, *, settled: bool) -> Seen:
    """Look at everything. The kinds of `provider_kinds` must be in the cache."""
    cache = rt.cache
    metadata, spec = machine_set.metadata, machine_set.spec
    namespace = metadata.namespace
    cluster = cache.get(CLUSTERS, Key(namespace, spec.cluster_name))
    name = metadata.labels.get(label.MACHINE_DEPLOYMENT_NAME)
    selector, selector_problem = None, ""
    try:
        selector = selector_of(machine_set)
    except InvalidSelector as problem:
        selector_problem = str(problem)
    machines = tuple(_machines(cache, machine_set, selector))
    template = spec.template.spec
    config = template.bootstrap.config_ref
    infrastructure = template_of(rt, template.infrastructure_ref, namespace)
    bootstrap = template_of(rt, config, namespace) if config is not None else None
    kinds_of = KindsOf(rt.kinds)
    provider_objects = {each.metadata.name: tuple(objects_of(cache, kinds_of, each)) for each in machines}
    claimed = {(made.kind, made.object.metadata.name) for found in provider_objects.values() for made in found}
    unclaimed = tuple(
        made
        for each in (bootstrap, infrastructure)
        if each is not None and each.made is not None
        for made in made_by(cache, each.made, machine_set)
        if (made.kind, made.object.metadata.name) not in claimed and cache.get(MACHINES, Key.of(made.object)) is None
    )
    control_plane, control_plane_problem = control_plane_of(rt, cluster)
    return Seen(
        machine_set=machine_set,
        now=rt.world.clock.now(),
        cluster=cluster,
        deployment=cache.get(MACHINE_DEPLOYMENTS, Key(namespace, name)) if name else None,
        selector=selector,
        selector_problem=selector_problem,
        machines=machines,
        infrastructure=infrastructure,
        bootstrap=bootstrap,
        provider_objects=provider_objects,
        unclaimed=unclaimed,
        control_plane=control_plane,
        control_plane_problem=control_plane_problem,
        settled=settled,
    )


def selector_of(machine_set: MachineSet) -> Selector:
    """Which machines the set chooses: never those of another cluster. Raises InvalidSelector."""
    return read(machine_set.spec.selector, {label.CLUSTER_NAME: machine_set.spec.cluster_name})


def uncontrolled(machine: Machine) -> tuple[str, ...]:
    """What the index UNCONTROLLED has a Machine under."""
    metadata = machine.metadata
    cluster = metadata.labels.get(label.CLUSTER_NAME)
    return (str(Key(metadata.namespace, cluster)),) if cluster and metadata.controller is None else ()


def _machines(cache: Cache, machine_set: MachineSet, selector: Selector | None) -> list[Machine]:
    metadata = machine_set.metadata
    controlled = [
        each
        for each in cache.owned(MACHINES, metadata.uid)
        if (owner := each.metadata.controller) is not None and owner.uid == metadata.uid
    ]
    if metadata.deleting or selector is None:
        return controlled  # a set that goes takes nothing along that is not its own
    cluster = str(Key(metadata.namespace, machine_set.spec.cluster_name))
    found = [
        each
        for each in (*controlled, *cache.by(MACHINES, UNCONTROLLED, cluster))
        if selector.matches(each.metadata.labels)
    ]
    return sorted(found, key=lambda each: each.metadata.name)
