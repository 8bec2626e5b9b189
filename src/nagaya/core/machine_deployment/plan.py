"""What to do for a deployment: a list of decisions, from what is seen to what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nagaya.api.cluster.annotations import DESIRED_REPLICAS, MAX_REPLICAS, REVISION
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.cluster.rollout import ON_DELETE, ROLLING_UPDATE
from nagaya.core.machine_deployment.current import Division, created, divide
from nagaya.core.machine_deployment.desired import NoTemplateHash, existing_set, new_set, resized
from nagaya.core.machine_deployment.on_delete import plan_on_delete
from nagaya.core.machine_deployment.paused_scaling import plan_paused
from nagaya.core.machine_deployment.revision import current_annotations, kept_annotations
from nagaya.core.machine_deployment.rolling_update import plan_rolling_update
from nagaya.core.machine_deployment.seen import Seen
from nagaya.core.machine_deployment.sizes import Group, Sizes
from nagaya.core.machine_deployment.strategy import InvalidStrategy, Limits, kind_of_strategy, limits


@dataclass(frozen=True, slots=True)
class Planned:
    """A MachineSet as it is, None if it has yet to be made, and as it shall be."""

    present: MachineSet | None
    wanted: MachineSet
    current: bool
    why: str = ""

    @property
    def size_before(self) -> int:
        """How many machines it was to have."""
        return 0 if self.present is None else self.present.spec.replicas or 0

    @property
    def size(self) -> int:
        """How many machines it shall have."""
        return self.wanted.spec.replicas or 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in this order. `says` is the sentence for people."""

    says: str
    sets: tuple[Planned, ...] = ()
    """The current one first, so that it grows before others shrink."""
    delete: tuple[MachineSet, ...] = ()
    revision: str = ""
    """What the deployment shows as its revision. Empty: leave it as it is."""
    release: bool = False
    """Whether the deployment may go."""
    stuck: bool = False
    """Whether somebody else has to do something before this generation of the deployment counts as seen."""


def plan(seen: Seen) -> Plan:
    """Decide. A deployment that is paused, by its Cluster or an annotation, never gets here."""
    deployment = seen.deployment
    if deployment.metadata.deleting:
        if not seen.sets:
            return Plan("All MachineSets are gone, so the MachineDeployment can go.", release=True)
        going = tuple(each for each in seen.sets if not each.metadata.deleting)
        return Plan(f"Waiting for {len(seen.sets)} MachineSets to be deleted.", delete=going)
    if seen.problem:
        return Plan(f"failed to get MachineSets: {seen.problem}", stuck=True)
    if seen.templates.problem:
        return Plan(seen.templates.problem, stuck=True)
    if deployment.spec.replicas is None:
        return Plan("Waiting for spec.replicas set", stuck=True)
    if any(each.spec.replicas is None for each in seen.sets):
        return Plan("Waiting for spec.replicas set on all MachineSets", stuck=True)
    try:
        return _rollout(seen, limits(deployment.spec))
    except (InvalidStrategy, NoTemplateHash) as error:
        return Plan(str(error), stuck=True)


def _rollout(seen: Seen, allowed: Limits) -> Plan:
    deployment = seen.deployment
    strategy = kind_of_strategy(deployment.spec)
    division = divide(deployment, seen.sets, seen.now)
    pausing = bool(deployment.spec.paused)
    if division.current is None and not pausing and seen.templates.missing:
        return Plan("cannot create a MachineSet when templates do not exist", stuck=True)
    old = [
        existing_set(deployment, allowed, each, kept_annotations(each), makes_machines=strategy != ON_DELETE)
        for each in division.old
    ]
    current: MachineSet | None = None
    if division.current is not None or not pausing:
        revisions = current_annotations(division.current, division.old)
        if division.current is not None:
            current = existing_set(deployment, allowed, division.current, revisions, makes_machines=True)
        else:
            current = new_set(deployment, allowed, revisions, taken=seen.taken)
    sizes = _sizes(seen, allowed, strategy, division, current)
    done_with = () if pausing else _empty(deployment, seen.sets, division.old)
    planned = [] if current is None else [_planned(division.current, current, sizes, current=True)]
    planned += [
        _planned(before, after, sizes, current=False)
        for before, after in zip(division.old, old, strict=True)
        if before not in done_with
    ]
    return Plan(
        division.why_none if division.current is None else "",
        tuple(planned),
        delete=done_with,
        revision="" if current is None else current.metadata.annotations[REVISION],
    )


def _sizes(seen: Seen, allowed: Limits, strategy: str, division: Division, current: MachineSet | None) -> Sizes:
    old = [Group.of(each) for each in division.old]
    if current is None or seen.deployment.spec.paused:
        return plan_paused(
            allowed,
            None if division.current is None else Group.of(division.current),
            old,
            {each.metadata.name: _number(each, MAX_REPLICAS) for each in seen.sets},
            saturated=_saturated(allowed, division.current),
            rolling=strategy == ROLLING_UPDATE,
        )
    group = Group.of(current if division.current is None else division.current)
    if strategy == ON_DELETE:
        return plan_on_delete(allowed.replicas, group, old)
    return plan_rolling_update(allowed, group, old)


def _planned(present: MachineSet | None, wanted: MachineSet, sizes: Sizes, *, current: bool) -> Planned:
    name = wanted.metadata.name
    size = sizes.chosen.get(name)
    why = [sizes.why(name)]
    if current and present is not None and _revision(present) != _revision(wanted):
        why.insert(0, "this is now the current MachineSet")
    return Planned(present, wanted if size is None else resized(wanted, size), current, ", ".join(filter(None, why)))


def _empty(
    deployment: MachineDeployment, sets: Sequence[MachineSet], old: Sequence[MachineSet]
) -> tuple[MachineSet, ...]:
    """Old sets that are of no use any more, once the rollout is complete."""
    wanted = deployment.spec.replicas
    statuses = [each.status for each in sets]
    complete = (
        sum(each.replicas or 0 for each in statuses) == wanted
        and sum(each.available_replicas or 0 for each in statuses) == wanted
        and sum(each.up_to_date_replicas or 0 for each in statuses) == wanted
        # Numbers from before the last change of the deployment say nothing of what it wants now.
        and (deployment.status.observed_generation or 0) >= deployment.metadata.generation
    )
    if not complete:
        return ()
    return tuple(
        each
        for each in sorted(old, key=lambda each: (created(each), each.metadata.name))
        if not each.metadata.deleting
        and not each.spec.replicas
        and not each.status.replicas
        and (each.status.observed_generation or 0) >= each.metadata.generation
    )


def _saturated(allowed: Limits, current: MachineSet | None) -> bool:
    """Whether the current set has all machines and they are available."""
    return (
        current is not None
        and current.spec.replicas == allowed.replicas
        and _number(current, DESIRED_REPLICAS) == allowed.replicas
        and (current.status.available_replicas or 0) == allowed.replicas
    )


def _revision(machine_set: MachineSet) -> str:
    return machine_set.metadata.annotations.get(REVISION, "")


def _number(machine_set: MachineSet, annotation: str) -> int:
    """The number in an annotation, 0 if there is none."""
    text = machine_set.metadata.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdecimal() else 0
