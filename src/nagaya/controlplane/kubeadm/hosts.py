"""The infrastructure of machines, and the template it is made from. Which kinds these are is known only at run time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import InfrastructureMachine, Provider
from nagaya.api.contract.template import SUFFIX
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES, KubeadmControlPlane
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters import owners
from nagaya.clusters.external import look_up, served
from nagaya.kube.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Host:
    """The infrastructure of one machine."""

    kind: Kind[Untyped]
    object: Untyped
    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class HostTemplate:
    """What the infrastructure of new machines is made from."""

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
        return self.kind is not None and not self.problem and self.object is None


def template_of(rt: Runtime, kcp: KubeadmControlPlane) -> HostTemplate:
    """The template that a control plane refers to."""
    reference = kcp.spec.machine_template.spec.infrastructure_ref
    found = look_up(rt, kcp.metadata.namespace, reference, Provider)
    if found.kind is None:
        return HostTemplate(reference, problem=found.problem)
    made = served(rt.kinds, reference.api_group, reference.kind.removesuffix(SUFFIX))
    problem = found.problem
    if made is None and not problem:
        problem = f"Nobody serves the kind {reference.kind.removesuffix(SUFFIX)} of {reference.api_group}."
    return HostTemplate(reference, found.kind, made, None if found.provider is None else found.provider.object, problem)


def host_of(rt: Runtime, machine: Machine) -> Host | None:
    """The infrastructure of a machine, if it is there and can be read."""
    found = look_up(rt, machine.metadata.namespace, machine.spec.infrastructure_ref, InfrastructureMachine)
    if found.kind is None or found.provider is None:
        return None
    told = found.provider.object.at("spec", "providerID")
    return Host(found.kind, found.provider.object, told if isinstance(told, str) else "")


def made_by(rt: Runtime, kind: Kind[Untyped], kcp: KubeadmControlPlane) -> Iterator[Host]:
    """The hosts that still belong to the control plane itself."""
    for obj in rt.cache.owned(kind, kcp.metadata.uid):
        if any(owners.is_a(each, KUBEADM_CONTROL_PLANES) for each in obj.metadata.owner_references):
            yield Host(kind, obj)


def kinds_of(rt: Runtime, kcp: KubeadmControlPlane, machines: Iterable[Machine]) -> tuple[Kind[Untyped], ...]:
    """The kinds that must be in the cache before a control plane is looked at; first that of the template, if it is
    served."""
    wanted = kcp.spec.machine_template.spec.infrastructure_ref
    names = {(wanted.api_group, wanted.kind): None, (wanted.api_group, wanted.kind.removesuffix(SUFFIX)): None}
    for machine in machines:
        reference = machine.spec.infrastructure_ref
        names[reference.api_group, reference.kind] = None
    return tuple(kind for name in names if (kind := served(rt.kinds, *name)) is not None)
