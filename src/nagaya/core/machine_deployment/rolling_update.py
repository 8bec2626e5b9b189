"""RollingUpdate: the current set grows as far as the surge allows, old ones shrink as far as availability allows.

What always holds: no set is grown beyond replicas + maxSurge in all, and no old one is shrunk so that fewer than
replicas - maxUnavailable would be left, even if only available machines went. The one exception breaks deadlocks: see
`_break_deadlock`. If somebody scales the deployment down, the current set follows at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.core.machine_deployment.sizes import Group, Sizes, machines_there_may_be, oldest_first
from nagaya.core.machine_deployment.strategy import Limits

ALIGN_TO_DEPLOYMENT = "scale down to align MachineSet spec.replicas to MachineDeployment spec.replicas"


def plan_rolling_update(limits: Limits, current: Group, old: Sequence[Group]) -> Sizes:
    """The sizes of all sets for the next step of a rollout, and for every step of scaling."""
    sizes = Sizes()
    _grow_current(sizes, limits, current, old)
    ordered = _shrink_old(sizes, limits, current, old)
    _break_deadlock(sizes, current, ordered)
    return sizes


def _grow_current(sizes: Sizes, limits: Limits, current: Group, old: Sequence[Group]) -> None:
    if current.wanted == limits.replicas:
        return
    if current.wanted > limits.replicas:
        sizes.choose(current, limits.replicas, ALIGN_TO_DEPLOYMENT)
        return
    machines = machines_there_may_be((*old, current))
    if machines >= limits.at_most:
        return
    more = min(limits.at_most - machines, limits.replicas - current.wanted)
    why = (
        f"{machines} current Machines < {limits.replicas} MachineDeployment spec.replicas + {limits.max_surge} maxSurge"
    )
    sizes.choose(current, current.wanted + more, why)


def _shrink_old(sizes: Sizes, limits: Limits, current: Group, old: Sequence[Group]) -> Sequence[Group]:
    """Shrink old sets as far as possible. Returns them in the order in which they are to shrink further."""
    if not sum(each.wanted for each in old):
        return old
    everybody = (*old, current)
    going = sum(max(each.machines - min(each.wanted, sizes.of(each)), 0) for each in everybody)
    # A current set that does not come up slows the rollout down, so that a bad template does not ruin all machines.
    not_up = max(current.wanted - current.available, 0)
    room = sum(each.wanted for each in everybody) - going - limits.available_at_least - not_up
    if room <= 0:
        return old
    ordered = oldest_first(old)
    available = sum(each.available for each in everybody)
    # Those that do not work go first: that costs least and brings the rollout on.
    room, available = _shrink(sizes, limits, ordered, room, available, only_unavailable=True)
    _shrink(sizes, limits, ordered, room, available, only_unavailable=False)
    return ordered


def _shrink(
    sizes: Sizes, limits: Limits, old: Sequence[Group], room: int, available: int, *, only_unavailable: bool
) -> tuple[int, int]:
    """Shrink sets one after the other. Returns how much room and how many available machines are left at worst."""
    for group in old:
        if room <= 0:
            break
        size = sizes.of(group)
        if size <= 0:
            continue
        fewer = min(max(size - group.available, 0) if only_unavailable else size, room)
        if not fewer:
            continue
        before = available
        if group.available:
            # Which machines go is the MachineSet's choice: at worst, available ones.
            deleted = max(group.machines - (size - fewer), 0)
            spare = max(available - limits.available_at_least, 0)
            if deleted > spare:
                smallest = min(group.machines - spare, size)
                fewer = max(size - smallest, 0)
                deleted = max(group.machines - smallest, 0)
            available -= min(group.available, deleted)
        if not fewer:
            continue
        if available == before:
            why = (
                "scale down to align to existing Machines or scale down by removing unavailable replicas "
                "(and no available replicas exist on the MachineSet)"
            )
        else:
            why = f"{before} available replicas > {limits.available_at_least} minimum available replicas"
        sizes.choose(group, size - fewer, why)
        room = max(room - fewer, 0)
    return room, available


def _break_deadlock(sizes: Sizes, current: Group, old: Sequence[Group]) -> None:
    """Let one machine of an old set go if nothing else can happen any more because some of them are not available.

    They would never be: machines of old sets are not remediated. Most likely one of those goes, since MachineSets
    prefer them, but that is not certain; hence it is not among the usual steps.
    """
    there = sum(each.machines for each in old)
    if not there or there == sum(each.available for each in old):
        return
    if sizes.chosen or any(each.wanted != each.machines for each in (*old, current)):
        return
    if current.available != current.machines:
        return  # first the new ones have to work: else there would soon be none that do
    for group in old:
        if group.available != group.machines and group.wanted:
            why = "scaling down by 1 to unblock rollout stuck due to unavailable Machine on oldMS"
            sizes.choose(group, group.wanted - 1, why)
            return
