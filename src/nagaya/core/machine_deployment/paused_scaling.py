"""Scaling of a deployment whose rollouts are paused: no template wins, so all sets grow or shrink in proportion.

Growing only the current set would bring the rollout on that somebody has paused, with a template that may be bad.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nagaya.core.machine_deployment.sizes import Group, Sizes, oldest_first
from nagaya.core.machine_deployment.strategy import Limits

WHY = "scale in proportion, since rollouts of the MachineDeployment are paused"


def plan_paused(
    limits: Limits,
    current: Group | None,
    old: Sequence[Group],
    allowed_before: Mapping[str, int],
    *,
    saturated: bool,
    rolling: bool,
) -> Sizes:
    """The sizes of all sets.

    `allowed_before` says how many machines, surge included, the deployment could have when it last wrote to a set: a
    set keeps its share of that number. `saturated` says that the current set has all machines and they are available.
    """
    sizes = Sizes()
    everybody = [*oldest_first(old), *([current] if current is not None else [])]
    active = [each for each in everybody if each.wanted > 0]
    if len(active) <= 1:
        only = active[0] if active else current or (everybody[-1] if everybody else None)
        if only is not None and only.wanted != limits.replicas:
            sizes.choose(
                only, limits.replicas, "the only MachineSet with replicas follows MachineDeployment spec.replicas"
            )
    elif saturated:
        for group in active:
            if group is not current:
                sizes.choose(group, 0, "the current MachineSet has all replicas, and they are available")
    elif rolling:
        _share(sizes, limits, active, allowed_before)
    return sizes


def _share(sizes: Sizes, limits: Limits, active: Sequence[Group], allowed_before: Mapping[str, int]) -> None:
    allowed = limits.at_most if limits.replicas else 0
    total = sum(each.wanted for each in active)
    change = allowed - total
    if not change:
        return
    # The largest takes what rounding leaves; among equals the newest grows and the oldest shrinks first.
    age = -1 if change > 0 else 1
    ordered = sorted(active, key=lambda each: (-each.wanted, age * each.created.timestamp(), each.name))
    given = 0
    targets: dict[str, int] = {}
    for group in ordered:
        before = allowed_before.get(group.name) or total
        exact = -group.wanted if not limits.replicas else _rounded(group.wanted * allowed / before) - group.wanted
        rest = change - given
        part = 0 if not rest else min(exact, rest) if change > 0 else max(exact, rest)
        targets[group.name] = group.wanted + part
        given += part
    targets[ordered[0].name] = max(targets[ordered[0].name] + change - given, 0)
    for group in ordered:
        if targets[group.name] != group.wanted:
            sizes.choose(group, targets[group.name], WHY)


def _rounded(value: float) -> int:
    """Half away from zero, where Python would round to even."""
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)
