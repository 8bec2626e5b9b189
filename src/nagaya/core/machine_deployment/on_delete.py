"""OnDelete: somebody deletes old machines by hand, and the current set makes up for them."""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.core.machine_deployment.rolling_update import ALIGN_TO_DEPLOYMENT
from nagaya.core.machine_deployment.sizes import Group, Sizes, machines_there_may_be, oldest_first


def plan_on_delete(replicas: int, current: Group, old: Sequence[Group]) -> Sizes:
    """The sizes of all sets: old ones never have more machines than they have, and what is missing is made anew."""
    sizes = Sizes()
    _size_current(sizes, replicas, current, old)
    _shrink_old(sizes, replicas, current, old)
    return sizes


def _size_current(sizes: Sizes, replicas: int, current: Group, old: Sequence[Group]) -> None:
    if current.wanted > replicas:
        sizes.choose(current, replicas, ALIGN_TO_DEPLOYMENT)
        return
    machines = machines_there_may_be((*old, current))
    if current.wanted == replicas or machines >= replicas:
        return
    why = f"{machines} current Machines < {replicas} MachineDeployment spec.replicas"
    sizes.choose(current, current.wanted + replicas - machines, why)


def _shrink_old(sizes: Sizes, replicas: int, current: Group, old: Sequence[Group]) -> None:
    too_many = max(sum(each.wanted for each in old) + sizes.of(current) - replicas, 0)
    ordered = [each for each in oldest_first(old) if each.wanted > 0]
    for group in ordered:
        gone = max(group.wanted - group.machines, 0)
        if gone:
            sizes.choose(group, group.wanted - gone, "scale down to align to existing Machines")
            too_many -= gone
    for group in ordered:
        if too_many <= 0:
            break
        fewer = min(sizes.of(group), too_many)
        if fewer > 0:
            sizes.choose(group, max(group.wanted - fewer, 0), ALIGN_TO_DEPLOYMENT)
            too_many -= fewer
