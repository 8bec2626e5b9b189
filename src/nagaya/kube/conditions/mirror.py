"""A condition of another object, shown on this one."""

from __future__ import annotations

from typing import Final

import msgspec

from nagaya.api.meta import Condition
from nagaya.kube.conditions.condition import Conditions, condition, get

NOT_YET_REPORTED: Final = "NotYetReported"


def not_yet_reported(type: str) -> str:
    """What is said of a condition that should be there and is not."""
    return f"Condition {type} not yet reported"


def mirror(
    conditions: Conditions, type: str, *, target: str | None = None, fallback: Condition | None = None
) -> Condition:
    """The condition of a type, under the name `target`, to be set on another object.

    It keeps its transition time: the moment when the underlying state changed. A condition that is not there is given
    by `fallback`, or is Unknown.
    """
    target = type if target is None else target
    found = get(conditions, type)
    if found is not None:
        return msgspec.structs.replace(found, type=target, observed_generation=None)
    if fallback is not None:
        return msgspec.structs.replace(fallback, type=target)
    return condition(target, "Unknown", NOT_YET_REPORTED, not_yet_reported(type))
