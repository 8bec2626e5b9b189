"""Which of its MachineSets is the one that a deployment wants: the current one. All others are old."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.core.drift import drift

_BEFORE_EVERYTHING: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Division:
    """The MachineSets of a deployment, told apart."""

    current: MachineSet | None
    old: tuple[MachineSet, ...]
    why_none: str = ""
    """Why no set is current, and a new one is needed."""


def divide(deployment: MachineDeployment, sets: Sequence[MachineSet], now: datetime) -> Division:
    """Find the set with the deployment's template, whatever differs in what can be changed in place.

    If several have it, the one with the most machines is current, so that the fewest have to go. Once the moment of
    `rollout.after` has come, a set that was made before it is old although it has the same template.
    """
    if not sets:
        return Division(None, (), "no MachineSets exist for the MachineDeployment")
    matching: list[MachineSet] = []
    old: list[MachineSet] = []
    differences: list[str] = []
    after = rollout_after(deployment)
    expired = after is not None and after < now
    for each in sorted(sets, key=_most_machines_first):
        found = drift(each.spec.template.spec, deployment.spec.template.spec)
        if not found:
            matching.append(each)
            continue
        old.append(each)
        reasons = [*found.reasons]
        if expired and after is not None and created(each) < after:
            reasons.append("MachineDeployment spec.rolloutAfter expired")
        differences.append(f"MachineSet {each.metadata.name} needs rollout: {', '.join(reasons)}")
    if not matching:
        why = "couldn't find MachineSet matching MachineDeployment spec template: " + "; ".join(differences)
        return Division(None, tuple(old), why)
    if after is None or now < after:
        return Division(matching[0], (*old, *matching[1:]))
    current = next((each for each in matching if created(each) >= after), None)
    others = tuple(each for each in matching if each is not current)
    if current is None:
        why = (
            f"spec.rollout.after on MachineDeployment set to {after:%Y-%m-%dT%H:%M:%SZ}, "
            "no MachineSet has been created afterwards"
        )
        return Division(None, (*old, *others), why)
    return Division(current, (*old, *others))


def rollout_after(deployment: MachineDeployment) -> datetime | None:
    """The moment of `rollout.after`. In whole seconds, as the dates are by which objects were made."""
    after = deployment.spec.rollout.after
    return None if after is None else after.astimezone(UTC).replace(microsecond=0)


def created(machine_set: MachineSet) -> datetime:
    """When a set was made."""
    return machine_set.metadata.creation_timestamp or _BEFORE_EVERYTHING


def _most_machines_first(machine_set: MachineSet) -> tuple[int, datetime, str]:
    return -(machine_set.spec.replicas or 0), created(machine_set), machine_set.metadata.name
