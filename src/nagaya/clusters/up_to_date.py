"""Which machines count when it is told whether all are up to date.

A new machine says nothing of that for a moment. If it counted at once, the conditions of its owners would flicker.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.kube.conditions import get

GRACE: Final = timedelta(seconds=10)
"""How long after its creation a machine may say nothing of UpToDate."""


def judged(machines: Iterable[Machine], now: datetime) -> list[Machine]:
    """The machines that count: those that say something, and those that had the time to."""
    return [each for each in machines if (counts := _counts_from(each)) is None or counts <= now]


def judgements(machines: Iterable[Machine]) -> list[datetime]:
    """From when on machines that say nothing count."""
    return [counts for each in machines if (counts := _counts_from(each)) is not None]


def _counts_from(machine: Machine) -> datetime | None:
    created = machine.metadata.creation_timestamp
    if created is None or get(machine.status.conditions, MachineCondition.UP_TO_DATE) is not None:
        return None
    return created + GRACE
