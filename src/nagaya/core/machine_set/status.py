"""What a MachineSet tells: how many machines there are, how they fare, and what it is about to do. One function per
condition; the texts are Cluster API's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from nagaya.api.cluster.annotations import PENDING_ACKNOWLEDGE_MOVE
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.api.cluster.machine_set import MachineSetStatus
from nagaya.api.cluster.machine_set_conditions import MachineSetCondition, MachineSetReason
from nagaya.api.meta import Condition
from nagaya.clusters.conditions import with_conditions
from nagaya.clusters.kubernetes_version import of_machines
from nagaya.clusters.machine_health import to_be_remediated, unhealthy
from nagaya.clusters.names import machines_named
from nagaya.clusters.pause import NOT_PAUSED
from nagaya.clusters.stale_machines import stale
from nagaya.clusters.up_to_date import judged, judgements
from nagaya.core.machine_set.in_place import updating_in_place
from nagaya.core.machine_set.seen import Seen
from nagaya.kube.conditions import (
    DefaultMerge,
    Source,
    aggregate,
    condition,
    is_true,
    reasons,
)
from nagaya.kube.status_change import News

CONDITIONS: Final = tuple(MachineSetCondition)
"""The types of conditions that are this controller's."""
FIELDS: Final = (
    "selector",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "upToDateReplicas",
    "versions",
    "observedGeneration",
)
"""The fields of the status that are this controller's."""
_NEWS: Final = News(turns=("observedGeneration",), conditions=CONDITIONS)
_ALL_AVAILABLE: Final = News(turns=("observedGeneration", "availableReplicas"), conditions=CONDITIONS)
DETAILS_WAIT: Final = 0.7
"""For how many seconds details wait: longer than those of machines, of which they tell."""

CHECK_THE_LOGS: Final = "Please check controller logs for errors"


def news(told: MachineSetStatus) -> News:
    """What others act on at once. Machines that come and go together count one by one: the numbers wait for the last,
    and no longer."""
    return _ALL_AVAILABLE if told.available_replicas == told.replicas else _NEWS


def status(seen: Seen, on_hold: Sequence[str], generation: int, *, complete: bool) -> MachineSetStatus:
    """The status of a set that is not paused. `generation` is that of the specification that was worked on."""
    present = seen.machine_set.status
    told = _conditions(seen, on_hold)
    conditions = with_conditions(present.conditions, told, now=seen.now, generation=generation)
    observed = generation if complete else present.observed_generation
    if seen.selector is None:
        return msgspec.structs.replace(present, conditions=conditions, observed_generation=observed)
    counted = [each for each in seen.machines if not updating_in_place(each)]
    return MachineSetStatus(
        conditions=conditions,
        selector=str(seen.selector),
        replicas=len(seen.machines),
        ready_replicas=_count(counted, MachineCondition.READY),
        available_replicas=_count(counted, MachineCondition.AVAILABLE),
        up_to_date_replicas=_count(counted, MachineCondition.UP_TO_DATE),
        versions=of_machines(seen.machines),
        observed_generation=observed,
    )


def _conditions(seen: Seen, on_hold: Sequence[str]) -> list[Condition]:
    if seen.selector is None:
        return [
            NOT_PAUSED,
            *(
                condition(each, "Unknown", MachineSetReason.INTERNAL_ERROR, CHECK_THE_LOGS)
                for each in CONDITIONS
                if each != MachineSetCondition.PAUSED
            ),
        ]
    return [
        NOT_PAUSED,
        scaling_up(seen, on_hold),
        scaling_down(seen),
        machines_ready(seen),
        machines_up_to_date(seen),
        remediating(seen),
        deleting(seen),
    ]


def scaling_up(seen: Seen, on_hold: Sequence[str]) -> Condition:
    """Whether machines are missing, and why they are not made."""
    type = MachineSetCondition.SCALING_UP
    desired = _desired(seen)
    if desired is None:
        return _waiting_for_replicas(type)
    missing = _missing_templates(seen)
    if len(seen.machines) >= desired:
        blocked = missing and not seen.machine_set.metadata.deleting
        message = f"Scaling up would be blocked because {missing}" if blocked else ""
        return condition(type, False, MachineSetReason.NOT_SCALING_UP, message)
    message = f"Scaling up from {len(seen.machines)} to {desired} replicas"
    if reasons_why := [*on_hold, *([missing] if missing else [])]:
        message = f"{message} is blocked because:\n" + "\n".join(f"* {each}" for each in reasons_why)
    return condition(type, True, MachineSetReason.SCALING_UP, message)


def scaling_down(seen: Seen) -> Condition:
    """Whether there are machines too many, and which of them take long to go."""
    type = MachineSetCondition.SCALING_DOWN
    desired = _desired(seen)
    if desired is None:
        return _waiting_for_replicas(type)
    present = sum(PENDING_ACKNOWLEDGE_MOVE not in each.metadata.annotations for each in seen.machines)
    if present <= desired:
        return condition(type, False, MachineSetReason.NOT_SCALING_DOWN)
    message = f"Scaling down from {present} to {desired} replicas"
    return condition(type, True, MachineSetReason.SCALING_DOWN, _with_stale(message, seen))


def machines_ready(seen: Seen) -> Condition:
    """Whether all machines are Ready."""
    strategy = DefaultMerge(
        reason=reasons(MachineSetReason.NOT_READY, MachineSetReason.READY_UNKNOWN, MachineSetReason.READY)
    )
    return _of_all(seen.machines, MachineCondition.READY, MachineSetCondition.MACHINES_READY, strategy)


def machines_up_to_date(seen: Seen) -> Condition:
    """Whether all machines are UpToDate. Those that had no time to say so yet do not count."""
    strategy = DefaultMerge(
        reason=reasons(
            MachineSetReason.NOT_UP_TO_DATE, MachineSetReason.UP_TO_DATE_UNKNOWN, MachineSetReason.UP_TO_DATE
        )
    )
    machines = judged(seen.machines, seen.now)
    return _of_all(machines, MachineCondition.UP_TO_DATE, MachineSetCondition.MACHINES_UP_TO_DATE, strategy)


def remediating(seen: Seen) -> Condition:
    """Whether machines are replaced because a health check gave them up."""
    type = MachineSetCondition.REMEDIATING
    sick = [each for each in seen.machines if to_be_remediated(each)]
    if sick:
        sources = [Source.of(MACHINES, each) for each in sick]
        found = aggregate(sources, MachineCondition.OWNER_REMEDIATED)
        return condition(type, True, MachineSetReason.REMEDIATING, found.message)
    names = [each.metadata.name for each in seen.machines if unhealthy(each)]
    message = f"{machines_named(names)} not healthy (not to be remediated by MachineSet)" if names else ""
    return condition(type, False, MachineSetReason.NOT_REMEDIATING, message)


def deleting(seen: Seen) -> Condition:
    """Whether the set goes, and what it waits for."""
    type = MachineSetCondition.DELETING
    if not seen.machine_set.metadata.deleting:
        return condition(type, False, MachineSetReason.NOT_DELETING)
    count = len(seen.machines)
    message = "Deletion completed"
    if count:
        message = _with_stale(f"Deleting {count} Machine{'' if count == 1 else 's'}", seen)
    return condition(type, True, MachineSetReason.DELETING, message)


def seconds_until_news(seen: Seen) -> float | None:
    """When the passing of time alone changes what is told, in seconds from now. None if it does not."""
    moments = judgements(seen.machines)
    if seen.machine_set.metadata.deleting or (seen.machine_set.spec.replicas or 0) < len(seen.machines):
        moments += stale(seen.machines, seen.now).changes
    return min(((each - seen.now).total_seconds() for each in moments if each > seen.now), default=None)


def _of_all(machines: Sequence[Machine], type: str, target: str, strategy: DefaultMerge) -> Condition:
    if not machines:
        return condition(target, True, MachineSetReason.NO_REPLICAS)
    return aggregate([Source.of(MACHINES, each) for each in machines], type, target=target, strategy=strategy)


def _waiting_for_replicas(type: str) -> Condition:
    return condition(type, "Unknown", MachineSetReason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")


def _desired(seen: Seen) -> int | None:
    replicas = seen.machine_set.spec.replicas
    return 0 if replicas is not None and seen.machine_set.metadata.deleting else replicas


def _missing_templates(seen: Seen) -> str:
    kinds = [each.reference.kind for each in seen.templates if each.missing]
    if not kinds:
        return ""
    return f"{kinds[0]} does not exist" if len(kinds) == 1 else f"{' and '.join(kinds)} do not exist"


def _with_stale(message: str, seen: Seen) -> str:
    late = stale(seen.machines, seen.now).message
    return f"{message}\n* {late}" if late else message


def _count(machines: Sequence[Machine], type: str) -> int:
    return sum(is_true(each.status.conditions, type) for each in machines)
