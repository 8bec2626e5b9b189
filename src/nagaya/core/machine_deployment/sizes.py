"""The numbers that rollouts are decided by, and the decisions as they are made.

Rollouts are arithmetic: how many machines each set is to have, has, and has available. Nothing else of a MachineSet
matters for them, so nothing else is here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from nagaya.api.cluster.machine_set import MachineSet
from nagaya.core.machine_deployment.current import created


@dataclass(frozen=True, slots=True)
class Group:
    """The machines of one set, counted."""

    name: str
    created: datetime
    wanted: int
    """How many there are to be: spec.replicas."""
    machines: int
    """How many there are: status.replicas."""
    available: int

    @classmethod
    def of(cls, machine_set: MachineSet) -> Group:
        """The figures of a set."""
        status = machine_set.status
        return cls(
            machine_set.metadata.name,
            created(machine_set),
            machine_set.spec.replicas or 0,
            status.replicas or 0,
            status.available_replicas or 0,
        )


@dataclass(slots=True)
class Sizes:
    """What was decided so far in one planning: how many machines sets are to have, and why."""

    chosen: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def choose(self, group: Group, size: int, why: str) -> None:
        """Give a set another size. The sentence is logged with the change."""
        self.chosen[group.name] = size
        reasons = self.reasons.setdefault(group.name, [])
        if why not in reasons:
            reasons.append(why)

    def of(self, group: Group) -> int:
        """How many machines a set is to have, by what was decided so far."""
        return self.chosen.get(group.name, group.wanted)

    def why(self, name: str) -> str:
        """Why a set got its size."""
        return ", ".join(self.reasons.get(name, ()))


def oldest_first(groups: Iterable[Group]) -> list[Group]:
    """Groups in the order in which they came to be."""
    return sorted(groups, key=lambda each: (each.created, each.name))


def machines_there_may_be(groups: Iterable[Group]) -> int:
    """How many machines there may be at worst: those still to go are there, those still to come are on their way."""
    return sum(max(each.wanted, each.machines) for each in groups)
