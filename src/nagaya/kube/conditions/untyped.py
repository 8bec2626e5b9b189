"""Conditions of objects that Nagaya has no types for, in any of the forms that providers use.

Providers of older contracts keep conditions of today's form in `status.v1beta2.conditions`, or only those of the old
form, without an observed generation and often without a reason. As much as can be mirrored is taken from each.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.kube.conditions.condition import UNSET, Conditions

NO_REASON: Final = "NoReasonReported"


def conditions_of(obj: Untyped) -> Conditions:
    """All conditions of an object. Raises ValueError, which names the object and the fault."""
    for path in (("status", "v1beta2", "conditions"), ("status", "conditions")):
        found = obj.at(*path)
        if isinstance(found, list):
            if (complete := _complete(found)) is not None:
                return complete
            try:
                return tuple(_read(each) for each in found if isinstance(each, Mapping))
            except ValueError as error:
                metadata = obj.metadata
                raise ValueError(
                    f"{'.'.join(path)} of {obj.kind} {metadata.namespace}/{metadata.name}: {error}"
                ) from error
    return ()


def _complete(content: list[Any]) -> Conditions | None:
    """All conditions in one pass, as most of them can be; None if there is any that lacks something."""
    try:
        found = msgspec.convert(content, Conditions)
    except msgspec.ValidationError:
        return None
    return found if all(each.type and each.reason for each in found) else None


def _read(content: Mapping[str, Any]) -> Condition:
    type = content.get("type")
    if not isinstance(type, str) or not type:
        raise ValueError("type must be set for all conditions")
    status = content.get("status")
    if not status:
        raise ValueError(f"status must be set for the {type} condition")
    if status not in ("True", "False", "Unknown"):
        raise ValueError(f"status for the {type} condition must be one of True, False, Unknown")
    told = content.get("lastTransitionTime")
    try:
        since = msgspec.convert(told, datetime) if told else UNSET
    except msgspec.ValidationError as error:
        raise ValueError(f"lastTransitionTime of the {type} condition: {error}") from error
    generation = content.get("observedGeneration")
    return Condition(
        type=type,
        status=status,
        observed_generation=generation if isinstance(generation, int) else None,
        last_transition_time=since,
        reason=content.get("reason") or NO_REASON,
        message=content.get("message") or "",
    )
