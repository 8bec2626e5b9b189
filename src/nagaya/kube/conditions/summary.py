"""Several conditions of an object made into one: Ready, Available."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nagaya.api.meta import Condition
from nagaya.kube.conditions.condition import condition
from nagaya.kube.conditions.merge import DefaultMerge, MergeStrategy, Operation, weigh
from nagaya.kube.conditions.mirror import NOT_YET_REPORTED
from nagaya.kube.conditions.source import Reported, Source


def summary(
    source: Source,
    target: str,
    types: Sequence[str],
    *,
    negative: Collection[str] = (),
    ignore_if_missing: Collection[str] = (),
    overrides: Collection[Condition] = (),
    strategy: MergeStrategy | None = None,
) -> Condition:
    """The condition `target`, still to be set on the object.

    `types` are in order of relevance. Those that the object does not have count as Unknown, unless they may be missing.
    `overrides` stand in for conditions of the object during this summary. Raises ValueError if there is nothing to sum
    up or the arguments contradict each other.
    """
    if not types:
        raise ValueError("a summary needs the types of the conditions to sum up")
    if target in types:
        raise ValueError(f"a summary cannot include {target}, the condition that it computes")
    instead: dict[str, Condition] = {}
    present = {each.type for each in source.conditions}
    for each in overrides:
        if each.type in instead:
            raise ValueError(f"override condition {each.type} specified multiple times")
        if each.type not in present:
            raise ValueError(f"override condition {each.type} must exist in source object")
        instead[each.type] = each
    wanted = dict.fromkeys(types)
    told = [Reported(source, instead.get(each.type, each)) for each in source.conditions if each.type in wanted]
    told += [
        Reported(source, condition(type, "Unknown", NOT_YET_REPORTED, "Condition not yet reported"))
        for type in wanted
        if type not in present and type not in ignore_if_missing
    ]
    if not told:
        raise ValueError("summary can't be performed when the list of conditions to be summarized is empty")
    merged = (strategy or DefaultMerge(weigh(negative))).merge(Operation.SUMMARY, told, types)
    return condition(target, merged.status, merged.reason, merged.message)
