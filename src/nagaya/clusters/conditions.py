"""Conditions of an object: many at once, in an order in which the later ones win."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from nagaya.api.meta import Condition
from nagaya.kube.conditions import Conditions, set_condition


def with_conditions(
    present: Conditions, told: Iterable[Condition | None], *, now: datetime, generation: int
) -> Conditions:
    """The conditions with all that there is to tell; None: nothing can be said, what was said before stands."""
    for each in told:
        if each is not None:
            present = set_condition(present, each, now=now, generation=generation)
    return present
