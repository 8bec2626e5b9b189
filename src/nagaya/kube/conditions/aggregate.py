"""The same condition of many objects made into one: MachinesReady."""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.api.meta import Condition
from nagaya.kube.conditions.condition import condition, get
from nagaya.kube.conditions.merge import DefaultMerge, MergeStrategy, Operation, weigh
from nagaya.kube.conditions.mirror import NOT_YET_REPORTED, not_yet_reported
from nagaya.kube.conditions.source import Reported, Source


def aggregate(
    sources: Sequence[Source],
    type: str,
    *,
    target: str | None = None,
    negative: bool = False,
    strategy: MergeStrategy | None = None,
) -> Condition:
    """The condition `target` (else of the same type), still to be set on an object.

    Objects that do not have it count as Unknown. `negative` says that the condition is good when False; so is the
    result then. Raises ValueError if there are no objects.
    """
    if not sources:
        raise ValueError("an aggregate needs at least one object")
    told = [
        Reported(source, get(source.conditions, type) or condition(type, "Unknown", NOT_YET_REPORTED, missing))
        for missing in [not_yet_reported(type)]
        for source in sources
    ]
    if strategy is None:
        strategy = DefaultMerge(weigh((type,) if negative else ()), positive=not negative)
    merged = strategy.merge(Operation.AGGREGATE, told, (type,))
    return condition(type if target is None else target, merged.status, merged.reason, merged.message)
