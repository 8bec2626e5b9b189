"""Machines whose deletion takes suspiciously long, as messages tell of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.core.machine_set.machines import named
from nagaya.kube.conditions import get

LONG_DELETION: Final = timedelta(minutes=15)
LONG_DRAIN: Final = timedelta(minutes=5)

_CAUSES: Final = {
    "cannot evict pod as it would violate the pod's disruption budget.": "PodDisruptionBudgets",
    "deletionTimestamp set, but still not removed from the Node": "Pods not terminating",
    "failed to evict Pod": "Pod eviction errors",
    "waiting for completion": "Pods not completed yet",
}
"""What the drain of a machine says, and what that means; in the order in which it is told."""


def stale(machines: Iterable[Machine], now: datetime) -> str:
    """A sentence about machines that have been going for too long, with the likely causes. Empty if there are none."""
    slow = [each for each in machines if _older(each.metadata.deletion_timestamp, now, LONG_DELETION)]
    if not slow:
        return ""
    said = [message for each in slow if (message := _drain_message(each, now))]
    causes = [cause for words, cause in _CAUSES.items() if any(words in message for message in said)]
    sentence = f"{named(each.metadata.name for each in slow)} in deletion since more than 15m"
    return f"{sentence}, delay likely due to {', '.join(causes)}" if causes else sentence


def next_stale(machines: Iterable[Machine], now: datetime) -> datetime | None:
    """When the sentence may change although nothing happens."""
    moments = []
    for each in machines:
        deletion, drain = each.metadata.deletion_timestamp, each.status.deletion.node_drain_start_time
        moments += [moment + LONG_DELETION for moment in (deletion,) if moment is not None]
        moments += [moment + LONG_DRAIN for moment in (drain,) if moment is not None]
    return min((moment for moment in moments if moment >= now), default=None)


def _drain_message(machine: Machine, now: datetime) -> str:
    deleting = get(machine.status.conditions, MachineCondition.DELETING)
    draining = deleting is not None and deleting.status == "True" and deleting.reason == MachineReason.DRAINING_NODE
    if deleting is None or not draining:
        return ""
    return deleting.message if _older(machine.status.deletion.node_drain_start_time, now, LONG_DRAIN) else ""


def _older(moment: datetime | None, now: datetime, age: timedelta) -> bool:
    return moment is not None and now - moment > age
