"""What a MachineSet does next, decided from what is seen and from nothing else.

The order is always the same: the set itself, its templates, machines that became its own, then either the way out
(everything is deleted) or the everyday: unhealthy machines, machines that shall change, machines too many or too few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nagaya.api.cluster import labels as label
from nagaya.api.cluster import machine_set as machine_sets
from nagaya.api.cluster.annotations import (
    DISABLE_MACHINE_CREATE,
    MOVE_MACHINES_TO_MACHINE_SET,
    PENDING_ACKNOWLEDGE_MOVE,
    RECEIVE_MACHINES_FROM_MACHINE_SETS,
)
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.clusters import owners
from nagaya.core.machine_set.deletion_order import first_to_go
from nagaya.core.machine_set.preflight import preflight
from nagaya.core.machine_set.propagation import (
    existing_machine,
    in_line,
    machine_annotations,
    machine_labels,
    tearing_down,
)
from nagaya.core.machine_set.remediation import remediation
from nagaya.core.machine_set.seen import Seen
from nagaya.core.machine_set.steps import (
    Adopt,
    Claim,
    Create,
    Delete,
    Discard,
    OwnTemplate,
    Release,
    Step,
    SyncDeleting,
    SyncMachine,
    SyncObject,
)
from nagaya.kube.patches import contains

CREATED_AT_ONCE: Final = 50
"""Machines that one reconcile makes at most; the events about them bring it back for the others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in order."""

    steps: tuple[Step, ...] = ()
    on_hold: tuple[str, ...] = ()
    """Why machines that are missing are not made, a sentence each."""
    complete: bool = True
    """Whether the set is in line with its specification once all is done, as far as it can tell."""


def plan(seen: Seen, checks: Collection[str]) -> Plan:
    """What to do about a MachineSet that is not paused."""
    if seen.machine_set.metadata.deleting:
        return Plan(tuple(_way_out(seen)))
    if seen.selector is None:
        return Plan(complete=False)
    sick = tuple(remediation(seen, checks))
    going = frozenset(each.machine.metadata.uid for each in sick if isinstance(each, Delete))
    scaling, on_hold = _scaling(seen, checks)
    steps = (
        *_claim(seen),
        *_own_templates(seen),
        *_adoptions(seen),
        *sick,
        *_propagation(seen, going),
        *_leftovers(seen),
        *scaling,
    )
    return Plan(steps, on_hold, complete=_complete(seen))


def _claim(seen: Seen) -> Iterator[Step]:
    """Finalizer, label, owner and selector in one write."""
    machine_set, cluster = seen.machine_set, seen.cluster
    metadata, spec = machine_set.metadata, machine_set.spec
    change: dict[str, Any] = {}
    if machine_sets.FINALIZER not in metadata.finalizers:
        change["finalizers"] = [*metadata.finalizers, machine_sets.FINALIZER]
    if metadata.labels.get(label.CLUSTER_NAME) != spec.cluster_name:
        change["labels"] = {label.CLUSTER_NAME: spec.cluster_name}
    if cluster is not None and _stands_alone(seen):
        owned = owners.with_owner(metadata.owner_references, owners.owner(CLUSTERS, cluster))
        change["ownerReferences"] = [msgspec.to_builtins(each) for each in owned]
    tie = {label.CLUSTER_NAME: spec.cluster_name}
    content: dict[str, Any] = {"metadata": change} if change else {}
    # The specification of a deployment's set is the deployment's: it would write it back, and so on for ever.
    if not seen.of_deployment and not contains(spec.selector.match_labels, tie):
        content.setdefault("spec", {})["selector"] = {"matchLabels": tie}
    if not seen.of_deployment and not contains(spec.template.metadata.labels, tie):
        content.setdefault("spec", {})["template"] = {"metadata": {"labels": tie}}
    if content:
        yield Claim(content, f"Tie the set to Cluster {spec.cluster_name}, and hold it until its machines are gone.")


def _stands_alone(seen: Seen) -> bool:
    """Whether the set belongs to its cluster directly, and does not say so yet."""
    # After a restore from a backup the deployment claims its sets again; until then they are nobody's.
    if seen.of_deployment:
        return False
    present = seen.machine_set.metadata.owner_references
    return not any(owners.is_a(each, MACHINE_DEPLOYMENTS) or owners.is_a(each, CLUSTERS) for each in present)


def _own_templates(seen: Seen) -> Iterator[Step]:
    if seen.cluster is None:
        return
    owner = owners.owner(CLUSTERS, seen.cluster)
    for template in seen.templates:
        if template.object is None:
            continue
        present = template.object.metadata.owner_references
        owned = owners.with_owner(present, owner)
        if owned is not present:
            why = f"{template.reference.kind} {template.reference.name} goes with its Cluster."
            yield OwnTemplate(template, owned, why)


def _adoptions(seen: Seen) -> Iterator[Step]:
    ours = owners.controller(machine_sets.MACHINE_SETS, seen.machine_set)
    for machine in seen.machines:
        if machine.metadata.controller is None:
            owned = owners.with_owner(machine.metadata.owner_references, ours)
            yield Adopt(machine, owned, f'Adopted Machine "{machine.metadata.name}"')


def _way_out(seen: Seen) -> Iterator[Step]:
    """First the machines; the set goes when they are gone."""
    for machine in seen.machines:
        if not machine.metadata.deleting:
            yield Delete(machine, f"Deleting Machine {machine.metadata.name} (MachineSet deleted)")
    yield from _leftovers(seen)
    if not seen.machines and machine_sets.FINALIZER in seen.machine_set.metadata.finalizers:
        yield Release("All machines are gone.")


def _propagation(seen: Seen, going: Collection[str]) -> Iterator[Step]:
    """Bring machines and their objects in line with the template, as far as that can be done in place.

    An object that says all that it should may still say something that the set no longer does. So each one is applied
    once after the specification has changed, and otherwise only when something is missing from it.
    """
    machine_set = seen.machine_set
    labels, annotations = machine_labels(machine_set), machine_annotations(machine_set)
    wanted = {"labels": labels, "annotations": annotations}
    for machine in seen.machines:
        name = machine.metadata.name
        if machine.metadata.deleting:
            if patch := tearing_down(machine_set, machine):
                yield SyncDeleting(machine, patch, f"Machine {name} follows the time limits of the set while it goes.")
            continue
        if machine.metadata.uid in going:
            continue
        # What was only just adopted has to become ours field by field; so it is not in line either.
        if not seen.settled or not in_line(machine_set, machine):
            content = existing_machine(machine_set, machine)
            yield SyncMachine(machine, content, f"Machine {name} follows the template of the set.")
        for made in seen.provider_objects.get(name, ()):
            obj = made.object
            if obj.metadata.deleting:
                continue
            present = obj.metadata
            complete = labels.items() <= present.labels.items() and annotations.items() <= present.annotations.items()
            if seen.settled and complete:
                continue
            yield SyncObject(made, wanted, f"{obj.kind} {obj.metadata.name} has the labels of the set.")


def _leftovers(seen: Seen) -> Iterator[Step]:
    """What a creation left behind that was cut short goes before anything new is made."""
    for made in seen.unclaimed:
        if not made.object.metadata.deleting:
            yield Discard(made, f"{made.object.kind} {made.object.metadata.name} has no Machine.")


def _scaling(seen: Seen, checks: Collection[str]) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Machines that are missing, or too many; and why those that are missing cannot be made."""
    machine_set = seen.machine_set
    wanted, present = machine_set.spec.replicas, len(seen.machines)
    if wanted is None or present == wanted:
        return (), ()
    if present < wanted:
        return _up(seen, wanted - present, checks)
    return tuple(_down(seen, wanted)), ()


def _up(seen: Seen, missing: int, checks: Collection[str]) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    if seen.machine_set.metadata.annotations.get(DISABLE_MACHINE_CREATE) == "true":
        return (), ()
    if problems := tuple(each.problem for each in seen.templates if each.problem):
        return (), problems
    if any(each.missing for each in seen.templates):
        return (), ()  # the condition says which
    if problem := _unknown_to_selector(seen):
        return (), (problem,)
    if problems := preflight(seen, "Scale up", checks):
        return (), problems
    count = min(missing, CREATED_AT_ONCE)
    return (Create(count, f"{missing} of {seen.machine_set.spec.replicas} machines are missing."),), ()


def _unknown_to_selector(seen: Seen) -> str:
    """Why the set would not know the machines that it makes for its own, and would make others for ever."""
    given = machine_labels(seen.machine_set)
    if seen.selector is None or seen.selector.matches(given):
        return ""
    named = ", ".join(f"{each.key}={given.get(each.key, '')}" for each in seen.selector.requirements)
    return f"spec.selector ({seen.selector}) does not select the machines of this set, which have the labels {named}"


def _down(seen: Seen, wanted: int) -> Iterator[Step]:
    machine_set, machines = seen.machine_set, seen.machines
    annotations = machine_set.metadata.annotations
    arriving = 0
    if annotations.get(RECEIVE_MACHINES_FROM_MACHINE_SETS):
        # The deployment has not counted them into spec.replicas yet.
        arriving = sum(PENDING_ACKNOWLEDGE_MOVE in each.metadata.annotations for each in machines)
    if annotations.get(MOVE_MACHINES_TO_MACHINE_SET):
        return  # they are to be moved elsewhere, not to be deleted
    many = max(0, len(machines) - arriving - wanted)
    order = first_to_go(machines, machine_set.spec.deletion.order, seen.now)[:many]
    for number, machine in enumerate(order, 1):
        if not machine.metadata.deleting:
            why = f"Machine {machine.metadata.name} deleting (scale down, deleting {number} of {many})"
            yield Delete(machine, why, announced=True)


def _complete(seen: Seen) -> bool:
    """Whether nothing is missing that the set has to wait for. Sets that a rollout replaces need no templates."""
    if seen.machine_set.spec.replicas is None:
        return False
    if seen.of_deployment and not seen.current:
        return True
    return not any(each.missing or each.problem for each in seen.templates)
