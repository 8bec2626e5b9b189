"""MachineDeployments and MachineSets of a fleet, decided by their controllers' own planners."""

from __future__ import annotations

from typing import Final

import msgspec

from nagaya.api.admission.selector import InvalidSelector
from nagaya.api.cluster.annotations import REVISION
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.pause import why_paused
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import ControlPlane, Provider
from nagaya.api.contract.template import SUFFIX, clone
from nagaya.clusters import owners
from nagaya.clusters.external import Referenced
from nagaya.core.machine_deployment import plan as deployment_plan
from nagaya.core.machine_deployment import seen as deployment_seen
from nagaya.core.machine_deployment import status as deployment_status
from nagaya.core.machine_deployment.current import divide
from nagaya.core.machine_deployment.templates import Templates, references
from nagaya.core.machine_set import plan as set_plan
from nagaya.core.machine_set import seen as set_seen
from nagaya.core.machine_set import status as set_status
from nagaya.core.machine_set import steps
from nagaya.core.machine_set.preflight import ALL
from nagaya.core.machine_set.propagation import machine_annotations, machine_labels, new_machine
from nagaya.core.machine_set.provider_objects import Template as SetTemplate
from nagaya.insight.foresight.fleet import Fleet, Template

_CHECKS: Final = (ALL,)


def look_at_deployments(fleet: Fleet) -> None:
    """Every MachineDeployment decides how many machines each of its sets is to have."""
    for deployment in list(fleet.deployments.values()):
        if not why_paused(fleet.cluster, deployment, MACHINE_DEPLOYMENTS.kind):
            _look_at_deployment(fleet, deployment)


def look_at_sets(fleet: Fleet) -> None:
    """Every MachineSet makes machines, or deletes them."""
    for machine_set in list(fleet.sets.values()):
        if not why_paused(fleet.cluster, machine_set, MACHINE_SETS.kind):
            _look_at_set(fleet, machine_set)


def count(fleet: Fleet) -> None:
    """Sets and deployments tell their numbers, by which the next look decides."""
    for deployment in fleet.deployments.values():
        _judge(fleet, deployment)
    for name, machine_set in list(fleet.sets.items()):
        seen = _seen_set(fleet, machine_set)
        told = set_status.status(seen, (), machine_set.metadata.generation, complete=True)
        fleet.sets[name] = msgspec.structs.replace(machine_set, status=told)
    for name, deployment in list(fleet.deployments.items()):
        told_all = deployment_status.status(_seen_deployment(fleet, deployment), stuck=False)
        fleet.deployments[name] = msgspec.structs.replace(deployment, status=told_all)


def title(fleet: Fleet, machine_set: MachineSet) -> str:
    """Who a machine of a set belongs to, as users know it."""
    owner = machine_set.metadata.controller
    if owner is not None and owner.kind == "MachineDeployment":
        return f"MachineDeployment {owner.name}"
    return f"MachineSet {machine_set.metadata.name}"


def _look_at_deployment(fleet: Fleet, deployment: MachineDeployment) -> None:
    name = deployment.metadata.name
    decided = deployment_plan.plan(_seen_deployment(fleet, deployment))
    _tell(fleet, f"MachineDeployment {name}", (decided.says,) if decided.stuck else ())
    for each in decided.sets:
        wanted = each.wanted
        if each.present is None:
            metadata = msgspec.structs.replace(
                wanted.metadata, uid=f"future-{wanted.metadata.name}", creation_timestamp=fleet.now, generation=1
            )
            fleet.sets[wanted.metadata.name] = msgspec.structs.replace(wanted, metadata=metadata)
            continue
        metadata = msgspec.structs.replace(
            each.present.metadata, annotations={**each.present.metadata.annotations, **wanted.metadata.annotations}
        )
        fleet.sets[wanted.metadata.name] = msgspec.structs.replace(each.present, metadata=metadata, spec=wanted.spec)
    for gone in decided.delete:
        fleet.sets.pop(gone.metadata.name, None)
    if decided.revision:
        annotations = {**deployment.metadata.annotations, REVISION: decided.revision}
        metadata = msgspec.structs.replace(deployment.metadata, annotations=annotations)
        fleet.deployments[name] = msgspec.structs.replace(deployment, metadata=metadata)


def _look_at_set(fleet: Fleet, machine_set: MachineSet) -> None:
    seen = _seen_set(fleet, machine_set)
    decided = set_plan.plan(seen, _CHECKS)
    owner = title(fleet, machine_set)
    missing = tuple(
        f"{each.reference.kind} {each.reference.name} does not exist." for each in seen.templates if each.missing
    )
    wanting = (machine_set.spec.replicas or 0) > len(seen.machines)
    _tell(fleet, f"MachineSet {machine_set.metadata.name}", (*decided.on_hold, *missing) if wanting else ())
    for step in decided.steps:
        match step:
            case steps.Create(count=number, why=why):
                for _ in range(number):
                    _make(fleet, machine_set, owner, why)
            case steps.Delete(machine=machine, why=why):
                fleet.remove(machine, owner, why)
            case _:
                continue  # what only changes labels, owners and notes


def _make(fleet: Fleet, machine_set: MachineSet, owner: str, why: str) -> None:
    name = fleet.name(owner.partition(" ")[2])
    template = machine_set.spec.template.spec
    config = template.bootstrap.config_ref
    host = fleet.template(template.infrastructure_ref)
    content = new_machine(
        machine_set, name, None if config is None else _named(config, name), _named(template.infrastructure_ref, name)
    )
    fleet.add(content, owner, why)
    if host.object is not None:
        fleet.hosts[name] = clone(
            host.object,
            name=name,
            cluster=machine_set.spec.cluster_name,
            owner=owners.owner(MACHINE_SETS, machine_set),
            labels=machine_labels(machine_set),
            annotations=machine_annotations(machine_set),
        )


def _named(reference: ContractReference, name: str) -> ContractReference:
    return msgspec.structs.replace(reference, kind=reference.kind.removesuffix(SUFFIX), name=name)


def _seen_deployment(fleet: Fleet, deployment: MachineDeployment) -> deployment_seen.Seen:
    selector, problem = deployment_seen.selector_of(deployment)
    sets = _sets_of(fleet, deployment)
    return deployment_seen.Seen(
        deployment=deployment,
        cluster=fleet.cluster,
        now=fleet.now,
        sets=sets,
        machines=tuple(machine for each in sets for machine in fleet.of_set(each)),
        templates=Templates(tuple(_referenced(fleet.template(each)) for each in references(deployment))),
        taken=frozenset(name for name in fleet.sets if name not in {each.metadata.name for each in sets}),
        selector=selector,
        problem=problem,
    )


def _seen_set(fleet: Fleet, machine_set: MachineSet) -> set_seen.Seen:
    template = machine_set.spec.template.spec
    config = template.bootstrap.config_ref
    owner = machine_set.metadata.controller
    plane = None if fleet.plane is None else ControlPlane(fleet.plane, "v1beta2")
    needed = fleet.cluster.spec.control_plane_ref
    try:
        selector = set_seen.selector_of(machine_set)
    except InvalidSelector:
        selector = None
    return set_seen.Seen(
        machine_set=machine_set,
        now=fleet.now,
        cluster=fleet.cluster,
        deployment=None if owner is None else fleet.deployments.get(owner.name),
        selector=selector,
        machines=tuple(fleet.of_set(machine_set)),
        infrastructure=_for_set(fleet.template(template.infrastructure_ref)),
        bootstrap=None if config is None else _for_set(fleet.template(config)),
        control_plane=plane,
        control_plane_problem="" if needed is None else f"{needed.kind} {needed.name} does not exist",
        settled=True,
    )


def _sets_of(fleet: Fleet, deployment: MachineDeployment) -> tuple[MachineSet, ...]:
    owned = (
        each
        for each in fleet.sets.values()
        if (owner := each.metadata.controller) is not None and owner.uid == deployment.metadata.uid
    )
    return tuple(sorted(owned, key=lambda each: each.metadata.name))


def _judge(fleet: Fleet, deployment: MachineDeployment) -> None:
    """Machines of the current set are up to date, the others are not."""
    division = divide(deployment, _sets_of(fleet, deployment), fleet.now)
    for each in (*division.old, *([] if division.current is None else [division.current])):
        for machine in fleet.of_set(each):
            fleet.says(machine.metadata.name, MachineCondition.UP_TO_DATE, holds=each is division.current)


def _tell(fleet: Fleet, who: str, why: tuple[str, ...]) -> None:
    if why:
        fleet.blocked[who] = why
    else:
        fleet.blocked.pop(who, None)


def _referenced(template: Template) -> Referenced[Provider]:
    provider = None if template.object is None else Provider(template.object, template.contract)
    return Referenced(template.reference, template.kind, provider, template.problem)


def _for_set(template: Template) -> SetTemplate:
    return SetTemplate(template.reference, template.kind, template.made, template.object, template.problem)
