"""Ready and Available: everything about a machine in one word each.

What is gone because the machine goes is no issue, and the details of a deletion are left out: these messages are put
together again for thousands of machines, and only equal ones can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.gate import NEGATIVE
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_status import MachineDeletionStatus
from nagaya.api.meta import Condition
from nagaya.kube.conditions import (
    Conditions,
    DefaultMerge,
    Source,
    Weigh,
    Weight,
    condition,
    get,
    reasons,
    summary,
    weigh,
)

_COUNTS: Final = (
    MachineCondition.DELETING,
    MachineCondition.UPDATING,
    MachineCondition.BOOTSTRAP_CONFIG_READY,
    MachineCondition.INFRASTRUCTURE_READY,
    MachineCondition.NODE_HEALTHY,
    MachineCondition.HEALTH_CHECK_SUCCEEDED,
)
_NEGATIVE: Final = (MachineCondition.DELETING, MachineCondition.UPDATING)
_GONE: Final = {
    (MachineCondition.BOOTSTRAP_CONFIG_READY, MachineReason.OBJECT_DELETED),
    (MachineCondition.BOOTSTRAP_CONFIG_READY, MachineReason.OBJECT_DOES_NOT_EXIST),
    (MachineCondition.INFRASTRUCTURE_READY, MachineReason.OBJECT_DELETED),
    (MachineCondition.INFRASTRUCTURE_READY, MachineReason.OBJECT_DOES_NOT_EXIST),
    (MachineCondition.NODE_HEALTHY, MachineReason.NODE_DELETED),
    (MachineCondition.NODE_HEALTHY, MachineReason.NODE_DOES_NOT_EXIST),
}
"""What is to be expected of a machine that goes."""

_LONG_DELETION: Final = timedelta(minutes=15)
_LONG_DRAIN: Final = timedelta(minutes=5)
_DELAYS: Final = (
    ("cannot evict pod as it would violate the pod's disruption budget.", "PodDisruptionBudgets"),
    ("deletionTimestamp set, but still not removed from the Node", "Pods not terminating"),
    ("failed to evict Pod", "Pod eviction errors"),
    ("waiting for completion", "Pods not completed yet"),
)
"""What the message of a drain says, and what likely keeps it from ending."""
_CONTROL_PLANE_PARTS: Final = ("* APIServer", "* ControllerManager", "* Scheduler")
_REASONS: Final = reasons(MachineReason.NOT_READY, MachineReason.READY_UNKNOWN, MachineReason.READY)


def ready(machine: Machine, present: Conditions, deletion: MachineDeletionStatus, now: datetime) -> Condition:
    """The condition Ready, out of all others that the machine has."""
    gates = machine.spec.readiness_gates
    negative = (*_NEGATIVE, *(each.condition_type for each in gates if each.polarity == NEGATIVE))
    going = get(present, MachineCondition.DELETING)
    deleting = machine.metadata.deleting and going is not None
    source = Source(MACHINES.kind, machine.metadata.name, present, labels.CONTROL_PLANE in machine.metadata.labels)
    return summary(
        source,
        MachineCondition.READY,
        (*_COUNTS, *(each.condition_type for each in gates)),
        negative=negative,
        ignore_if_missing=(MachineCondition.HEALTH_CHECK_SUCCEEDED,),
        overrides=(_deleting_in_short(machine, going, deletion, now),) if deleting and going is not None else (),
        strategy=DefaultMerge(_weigh(machine, negative), reason=_REASONS, transform=one_line_per_control_plane),
    )


def available(machine: Machine, ready: Condition, now: datetime) -> tuple[Condition, float | None]:
    """The condition Available, and in how many seconds it has to be looked at again."""
    type = MachineCondition.AVAILABLE
    if ready.status != "True":
        return condition(type, False, MachineReason.NOT_READY), None
    rest = ready.last_transition_time + timedelta(seconds=machine.spec.min_ready_seconds or 0) - now
    if rest <= timedelta():
        return condition(type, True, MachineReason.AVAILABLE), None
    return condition(type, False, MachineReason.WAITING_FOR_MIN_READY_SECONDS), rest.total_seconds()


def one_line_per_control_plane(lines: list[str]) -> list[str]:
    """The lines of a summary, with those of control plane components made one if they all say the same."""
    shown: list[str] = []
    told: list[str] = []
    for line in lines:
        title, colon, message = line.partition(":")
        if not colon or not (title.startswith(_CONTROL_PLANE_PARTS) or title == "* EtcdPodHealthy"):
            shown.append(line)
            continue
        if not told:
            shown.append(f"* Control plane components:{message}")
        told.append(message)
    return shown if len(told) > 1 and len(set(told)) == 1 else lines


def _weigh(machine: Machine, negative: Sequence[str]) -> Weigh:
    usual = weigh(negative)

    def weight(each: Condition) -> Weight:
        if machine.metadata.deleting and (each.type, each.reason) in _GONE:
            return Weight.INFO
        return usual(each)

    return weight


def _deleting_in_short(machine: Machine, going: Condition, deletion: MachineDeletionStatus, now: datetime) -> Condition:
    began = machine.metadata.deletion_timestamp
    message = f"Machine deletion in progress, stage: {going.reason}"
    if began is not None and now - began > _LONG_DELETION:
        message = f"Machine deletion in progress since more than 15m, stage: {going.reason}"
        drain = deletion.node_drain_start_time
        if going.reason == MachineReason.DRAINING_NODE and drain is not None and now - drain > _LONG_DRAIN:
            causes = [cause for sign, cause in _DELAYS if sign in going.message]
            if causes:
                message += f", delay likely due to {', '.join(causes)}"
    return condition(MachineCondition.DELETING, True, MachineReason.DELETING, message)
