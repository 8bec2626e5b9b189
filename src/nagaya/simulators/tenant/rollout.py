"""How a Deployment moves its replicas from old sets to the new one. Pure: numbers in, numbers out.

Never more than `desired + surge` pods in all, and never fewer than `desired - unavailable` of them available through
our own doing; old replicas that are not available go first, since nothing is lost with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """A set of replicas: how many it should have, and how many of them are available."""

    name: str
    replicas: int
    available: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What a rollout may do."""

    desired: int
    surge: int
    unavailable: int


def rolling(limits: Limits, new: Count, old: Sequence[Count]) -> dict[str, int]:
    """The numbers that the sets should have next. `old` is oldest first."""
    total = new.replicas + sum(each.replicas for each in old)
    if new.replicas > limits.desired:
        return {new.name: limits.desired}
    room = limits.desired + limits.surge - total
    if new.replicas < limits.desired and room > 0:
        return {new.name: new.replicas + min(room, limits.desired - new.replicas)}
    return _smaller_old_sets(limits, new, old, total)


def _smaller_old_sets(limits: Limits, new: Count, old: Sequence[Count], total: int) -> dict[str, int]:
    least = limits.desired - limits.unavailable
    may_go = total - least - (new.replicas - new.available)
    left = {each.name: each.replicas for each in old}
    for each in old:
        idle = min(each.replicas - each.available, may_go)
        if idle > 0:
            left[each.name] -= idle
            may_go -= idle
    spare = min(may_go, new.available + sum(each.available for each in old) - least)
    for each in old:
        gone = min(left[each.name], spare)
        if gone > 0:
            left[each.name] -= gone
            spare -= gone
    return {each.name: left[each.name] for each in old if left[each.name] != each.replicas}


def recreating(desired: int, new: Count, old: Sequence[Count], old_pods: int) -> dict[str, int]:
    """The numbers when no old pod may run beside a new one."""
    if any(each.replicas for each in old):
        return {each.name: 0 for each in old if each.replicas}
    if old_pods or new.replicas == desired:
        return {}
    return {new.name: desired}
