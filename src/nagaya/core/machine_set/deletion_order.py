"""Which machines go first when there are too many.

Machines that are going already count first, so that nobody deletes more while they are on their way; then those that
a user marked; then those whose update would be in vain; then those that do not work; and only then the order that the
set asks for. Machines that are equal in all that go by name: the same question has the same answer every time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from nagaya.api.cluster.annotations import DELETE_MACHINE
from nagaya.api.cluster.deletion_order import NEWEST, OLDEST, RANDOM
from nagaya.api.cluster.machine import Machine
from nagaya.api.cluster.machine_conditions import MachineCondition
from nagaya.clusters.machine_health import unhealthy
from nagaya.core.machine_set.in_place import updating_in_place
from nagaya.kube.conditions import is_false

GOING: Final = 100.0
MARKED: Final = 80.0
UPDATING: Final = 75.0
NOT_WORKING: Final = 50.0
ANY: Final = 20.0
TEN_DAYS: Final = 864_000.0
"""Ages are told apart best up to here."""

ORDERS: Final = ("", RANDOM, NEWEST, OLDEST)


class UnknownOrder(ValueError):
    """An order that nobody knows: a machine that goes cannot be brought back, so none goes."""


def first_to_go(machines: Iterable[Machine], order: str, now: datetime) -> list[Machine]:
    """All machines, in the order in which they are deleted. Raises UnknownOrder."""
    if order not in ORDERS:
        raise UnknownOrder(f"Unsupported deletion order {order}. Must be one of 'Random', 'Newest', or 'Oldest'")
    return sorted(machines, key=lambda each: (-_priority(each, order, now), each.metadata.name))


def _priority(machine: Machine, order: str, now: datetime) -> float:
    if machine.metadata.deleting:
        return GOING
    if DELETE_MACHINE in machine.metadata.annotations:
        return MARKED
    if updating_in_place(machine):
        return UPDATING
    if not _works(machine):
        return NOT_WORKING
    if order == OLDEST:
        return _age(machine, now)
    if order == NEWEST:
        return NOT_WORKING - _age(machine, now)
    return ANY


def _works(machine: Machine) -> bool:
    """What is not known to be broken works."""
    if machine.status.node_ref is None:
        return False
    return not is_false(machine.status.conditions, MachineCondition.NODE_HEALTHY) and not unhealthy(machine)


def _age(machine: Machine, now: datetime) -> float:
    """The age on a scale that ends below what does not work."""
    created = machine.metadata.creation_timestamp
    if created is None:
        return 0.0
    seconds = max(0.0, (now - created).total_seconds())
    return NOT_WORKING * (1.0 - math.exp(-seconds / TEN_DAYS))
