"""What a deployment tells of itself: numbers, a phase, and one function per condition.

Everything comes from the MachineSets' numbers and the machines' conditions, as they were seen. What was decided
meanwhile shows when the sets have acted on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_deployment import MachineDeploymentStatus
from nagaya.api.cluster.machine_deployment_conditions import MachineDeploymentCondition as Type
from nagaya.api.cluster.machine_deployment_conditions import MachineDeploymentReason as Reason
from nagaya.api.cluster.machine_set import MachineSetStatus
from nagaya.api.cluster.rollout import ROLLING_UPDATE
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.kubernetes_version import together
from nagaya.clusters.machine_health import to_be_remediated, unhealthy
from nagaya.clusters.names import machines_named
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.clusters.stale_machines import stale
from nagaya.clusters.up_to_date import judged, judgements
from nagaya.core.machine_deployment.current import rollout_after
from nagaya.core.machine_deployment.seen import Seen
from nagaya.core.machine_deployment.strategy import (
    MAX_UNAVAILABLE,
    InvalidStrategy,
    Limits,
    kind_of_strategy,
    limits,
    rolling_update,
)
from nagaya.kube.conditions import DefaultMerge, Source, aggregate, condition, get, reasons
from nagaya.kube.status_change import News

CONDITIONS: Final = tuple(Type)
FIELDS: Final = (
    "observedGeneration",
    "selector",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "upToDateReplicas",
    "phase",
    "versions",
)
"""What belongs to this controller."""
NEWS: Final = News(turns=("phase", "observedGeneration"), conditions=CONDITIONS)
"""What others act on at once. The numbers count up one by one, and wait for the last."""
DETAILS_WAIT: Final = 0.9
"""For how many seconds they wait: longer than those of MachineSets, of which they are made."""

_ERROR: Final = "Please check controller logs for errors"


def status(seen: Seen, *, stuck: bool) -> MachineDeploymentStatus:
    """The whole status. `stuck` says that this generation of the deployment cannot be acted upon yet."""
    deployment = seen.deployment
    metadata, before = deployment.metadata, deployment.status
    known = not seen.problem
    sets = [each.status for each in seen.sets]
    after = msgspec.structs.replace(
        before,
        observed_generation=before.observed_generation if stuck else metadata.generation or None,
        selector=before.selector if seen.selector is None else str(seen.selector),
        replicas=_sum(sets, lambda each: each.replicas) if known else before.replicas,
        ready_replicas=_sum(sets, lambda each: each.ready_replicas) if known else before.ready_replicas,
        available_replicas=_sum(sets, lambda each: each.available_replicas) if known else before.available_replicas,
        up_to_date_replicas=_sum(sets, lambda each: each.up_to_date_replicas) if known else before.up_to_date_replicas,
        versions=together(running for each in sets for running in each.versions) if known else before.versions,
        phase=_phase(seen),
    )
    told = (
        _available(seen, after.available_replicas),
        _rolling_out(seen),
        _scaling_up(seen),
        _scaling_down(seen),
        _machines_ready(seen),
        _machines_up_to_date(seen),
        _remediating(seen),
        _deleting(seen),
        NOT_PAUSED,
    )
    conditions = with_conditions(before.conditions, told, now=seen.now, generation=metadata.generation)
    return msgspec.structs.replace(after, conditions=conditions)


def next_look(seen: Seen) -> float | None:
    """In how many seconds something changes by time alone."""
    moments: list[datetime] = []
    after = rollout_after(seen.deployment)
    if after is not None and after > seen.now:
        moments.append(after)
    moments += judgements(seen.machines)
    moments += stale(seen.machines, seen.now).changes
    waits = [(moment - seen.now).total_seconds() for moment in moments if moment >= seen.now]
    # Most of them mean "longer than", and at the moment itself that is not true yet.
    return min(waits) + 0.001 if waits else None


def _phase(seen: Seen) -> str:
    wanted = seen.deployment.spec.replicas
    if seen.problem or wanted is None:
        return "Unknown"
    if seen.deployment.metadata.deleting:
        return "ScalingDown"
    present = _machines(seen)
    if wanted == present:
        return "Running"
    return "ScalingDown" if wanted < present else "ScalingUp"


def _available(seen: Seen, available: int | None) -> Condition:
    if (unclear := _unclear(seen, Type.AVAILABLE)) is not None:
        return unclear
    if available is None:
        return condition(
            Type.AVAILABLE,
            "Unknown",
            Reason.WAITING_FOR_AVAILABLE_REPLICAS_SET,
            "Waiting for status.availableReplicas set",
        )
    spec = seen.deployment.spec
    try:
        allowed, rolling = limits(spec), kind_of_strategy(spec) == ROLLING_UPDATE
    except InvalidStrategy:
        allowed, rolling = Limits(spec.replicas or 0), False
    needed = allowed.replicas - allowed.max_unavailable
    if available >= needed:
        return condition(Type.AVAILABLE, True, Reason.AVAILABLE)
    if seen.deployment.metadata.deleting:
        return condition(Type.AVAILABLE, False, Reason.NOT_AVAILABLE, "Deletion in progress")
    message = f"{available} available replicas, at least {needed} required"
    if rolling:
        given = rolling_update(spec).max_unavailable
        tolerance = MAX_UNAVAILABLE if given is None else given
        message += f" (spec.strategy.rollout.maxUnavailable is {tolerance}, spec.replicas is {allowed.replicas})"
    return condition(Type.AVAILABLE, False, Reason.NOT_AVAILABLE, message)


def _rolling_out(seen: Seen) -> Condition:
    outdated = 0
    lines: set[str] = set()
    for machine in seen.machines:
        found = get(machine.status.conditions, MachineCondition.UP_TO_DATE)
        if found is not None and found.status == "False":
            outdated += 1
            lines.update(found.message.split("\n") if found.message else ())
    if not outdated:
        return condition(Type.ROLLING_OUT, False, Reason.NOT_ROLLING_OUT)
    message = f"Rolling out {outdated} not up-to-date replicas"
    ordered = sorted(lines, key=lambda line: (not line.startswith("* Version"), line))
    return condition(Type.ROLLING_OUT, True, Reason.ROLLING_OUT, "\n".join((message, *ordered)))


def _scaling_up(seen: Seen) -> Condition:
    if (unclear := _unclear(seen, Type.SCALING_UP)) is not None:
        return unclear
    wanted, present = _wanted(seen), _machines(seen)
    missing = _missing(seen.templates.missing)
    if present >= wanted:
        blocked = missing and not seen.deployment.metadata.deleting
        message = f"Scaling up would be blocked {missing}" if blocked else ""
        return condition(Type.SCALING_UP, False, Reason.NOT_SCALING_UP, message)
    message = f"Scaling up from {present} to {wanted} replicas"
    if missing:
        message += f" is blocked {missing}"
    return condition(Type.SCALING_UP, True, Reason.SCALING_UP, message)


def _scaling_down(seen: Seen) -> Condition:
    if (unclear := _unclear(seen, Type.SCALING_DOWN)) is not None:
        return unclear
    wanted, present = _wanted(seen), _machines(seen)
    if present <= wanted:
        return condition(Type.SCALING_DOWN, False, Reason.NOT_SCALING_DOWN)
    message = f"Scaling down from {present} to {wanted} replicas"
    if slow := stale(seen.machines, seen.now).message:
        message += f"\n* {slow}"
    return condition(Type.SCALING_DOWN, True, Reason.SCALING_DOWN, message)


def _machines_ready(seen: Seen) -> Condition:
    if not seen.machines:
        return condition(Type.MACHINES_READY, True, Reason.NO_REPLICAS)
    strategy = DefaultMerge(reason=reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY))
    return aggregate(_sources(seen.machines), MachineCondition.READY, target=Type.MACHINES_READY, strategy=strategy)


def _machines_up_to_date(seen: Seen) -> Condition:
    machines = judged(seen.machines, seen.now)
    if not machines:
        return condition(Type.MACHINES_UP_TO_DATE, True, Reason.NO_REPLICAS)
    strategy = DefaultMerge(reason=reasons(Reason.NOT_UP_TO_DATE, Reason.UP_TO_DATE_UNKNOWN, Reason.UP_TO_DATE))
    return aggregate(
        _sources(machines), MachineCondition.UP_TO_DATE, target=Type.MACHINES_UP_TO_DATE, strategy=strategy
    )


def _remediating(seen: Seen) -> Condition:
    remedied = [each for each in seen.machines if to_be_remediated(each)]
    if remedied:
        found = aggregate(_sources(remedied), MachineCondition.OWNER_REMEDIATED, target=Type.REMEDIATING)
        return condition(Type.REMEDIATING, True, Reason.REMEDIATING, found.message)
    names = [each.metadata.name for each in seen.machines if unhealthy(each)]
    message = (
        f"{machines_named(names)} not healthy (not to be remediated by MachineDeployment/MachineSet)" if names else ""
    )
    return condition(Type.REMEDIATING, False, Reason.NOT_REMEDIATING, message)


def _deleting(seen: Seen) -> Condition:
    if seen.problem:
        return condition(Type.DELETING, "Unknown", Reason.INTERNAL_ERROR, _ERROR)
    if not seen.deployment.metadata.deleting:
        return condition(Type.DELETING, False, Reason.NOT_DELETING)
    count = len(seen.machines)
    if count:
        message = f"Deleting {count} Machine{'' if count == 1 else 's'}"
        if slow := stale(seen.machines, seen.now).message:
            message += f"\n* {slow}"
    elif seen.sets:
        message = f"Deleting {len(seen.sets)} MachineSets"
    else:
        message = "Deletion completed"
    return condition(Type.DELETING, True, Reason.DELETING, message)


def _unclear(seen: Seen, type: Type) -> Condition | None:
    """The condition as long as there is no telling: the sets are not known, or how many machines there are to be."""
    if seen.problem:
        return condition(type, "Unknown", Reason.INTERNAL_ERROR, _ERROR)
    if seen.deployment.spec.replicas is None:
        return condition(type, "Unknown", Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    return None


def _wanted(seen: Seen) -> int:
    return 0 if seen.deployment.metadata.deleting else seen.deployment.spec.replicas or 0


def _machines(seen: Seen) -> int:
    return sum(each.status.replicas or 0 for each in seen.sets)


def _missing(kinds: tuple[str, ...]) -> str:
    if not kinds:
        return ""
    return f"because {' and '.join(kinds)} {'does' if len(kinds) == 1 else 'do'} not exist"


def _sources(machines: Iterable[Machine]) -> list[Source]:
    return [Source.of(MACHINES, each) for each in machines]


def _sum(sets: Iterable[MachineSetStatus], number: Callable[[MachineSetStatus], int | None]) -> int | None:
    """The sum of a number that some sets may not tell yet; None if none does."""
    told = [found for each in sets if (found := number(each)) is not None]
    return sum(told) if told else None
