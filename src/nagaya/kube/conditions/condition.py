"""Reading and changing the conditions of an object, which is a tuple that nobody changes in place.

What always holds of a tuple that went through `set_condition`: one entry per type, in the order in which people read
them, and `last_transition_time` says when the status, not the message, last changed.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from nagaya.api.meta import Condition, ConditionStatus
from nagaya.kube.conditions.order import position

UNSET: Final = datetime.min.replace(tzinfo=UTC)
"""The transition time of a condition that was computed and not yet set on an object."""

Conditions = tuple[Condition, ...]


def condition(
    type: str, status: ConditionStatus | bool, reason: str, message: str = "", *, since: datetime = UNSET
) -> Condition:
    """A condition that is still to be set on an object."""
    if isinstance(status, bool):
        status = "True" if status else "False"
    return Condition(type=type, status=status, reason=reason, message=message, last_transition_time=since)


def get(conditions: Conditions, type: str) -> Condition | None:
    """The condition of a type."""
    for each in conditions:
        if each.type == type:
            return each
    return None


def is_true(conditions: Conditions, type: str) -> bool:
    """Whether a condition is there and True."""
    found = get(conditions, type)
    return found is not None and found.status == "True"


def is_false(conditions: Conditions, type: str) -> bool:
    """Whether a condition is there and False."""
    found = get(conditions, type)
    return found is not None and found.status == "False"


def is_unknown(conditions: Conditions, type: str) -> bool:
    """Whether a condition is Unknown, as every condition is that is not there."""
    found = get(conditions, type)
    return found is None or found.status == "Unknown"


def set_condition(conditions: Conditions, wanted: Condition, *, now: datetime, generation: int) -> Conditions:
    """The conditions with one added or changed; the same tuple if that changes nothing.

    A changed status gets the transition time that the wanted condition brings, or `now`, in whole seconds.
    """
    before = get(conditions, wanted.type)
    if before is not None and before.status == wanted.status:
        since = before.last_transition_time
    else:
        since = (now if wanted.last_transition_time == UNSET else wanted.last_transition_time).replace(microsecond=0)
    after = msgspec.structs.replace(wanted, last_transition_time=since, observed_generation=generation or None)
    if after == before:
        return conditions
    others = [each for each in conditions if each.type != wanted.type]
    return tuple(sorted([*others, after], key=lambda each: position(each.type)))


def remove_condition(conditions: Conditions, type: str) -> Conditions:
    """The conditions without those of a type."""
    return tuple(each for each in conditions if each.type != type)
