"""Many conditions made into one: what is wrong is shown first, what is unknown next, the rest only if all is well.

Used in two ways: a summary puts different conditions of one object together, an aggregate the same condition of many
objects. The texts are Cluster API's, because people and programs read them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol

from nagaya.api.meta import Condition, ConditionStatus
from nagaya.kube.conditions.aggregate_message import aggregate_message
from nagaya.kube.conditions.source import Reported
from nagaya.kube.conditions.summary_message import summary_message
from nagaya.kube.conditions.weight import Weigh, Weight

ISSUES_REPORTED: Final = "IssuesReported"
UNKNOWN_REPORTED: Final = "UnknownReported"
INFO_REPORTED: Final = "InfoReported"

Group = Sequence[Reported]
ComputeReason = Callable[[Group, Group, Group], str]
"""Of issues, unknown and info conditions: the reason for the result."""


class Operation(Enum):
    """What is being merged."""

    SUMMARY = "Summary"
    AGGREGATE = "Aggregate"


class Merged(NamedTuple):
    """The result of a merge."""

    status: ConditionStatus
    reason: str
    message: str


class MergeStrategy(Protocol):
    """A way to make one condition out of many."""

    def merge(self, operation: Operation, conditions: Sequence[Reported], types: Sequence[str]) -> Merged:
        """Merge conditions, at least one, all of the given types; these are in order of relevance."""
        ...


def reasons(issues: str, unknown: str, info: str) -> ComputeReason:
    """Picks one of three reasons: for any issue, else for anything unknown, else for nothing but good news."""

    def pick(issue_conditions: Group, unknown_conditions: Group, info_conditions: Group) -> str:
        if issue_conditions:
            return issues
        return unknown if unknown_conditions else info

    return pick


def weigh(negative: Collection[str] = ()) -> Weigh:
    """Issue, unknown or info by the status; conditions of `negative` types are good when False."""
    turned = frozenset(negative)

    def weight(condition: Condition) -> Weight:
        if condition.status == "Unknown":
            return Weight.UNKNOWN
        return Weight.INFO if (condition.status == "True") != (condition.type in turned) else Weight.ISSUE

    return weight


_BY_STATUS: Final = weigh()
_GENERIC: Final = reasons(ISSUES_REPORTED, UNKNOWN_REPORTED, INFO_REPORTED)


@dataclass(frozen=True, slots=True)
class DefaultMerge:
    """The strategy that is used unless another is given."""

    weigh: Weigh = _BY_STATUS
    positive: bool = True
    """Whether the result is good when True."""
    reason: ComputeReason = _GENERIC
    transform: Callable[[list[str]], list[str]] | None = None
    """Changes the lines of a summary before they are put together."""

    def merge(self, operation: Operation, conditions: Sequence[Reported], types: Sequence[str]) -> Merged:
        """Merge conditions: issues beat unknown, unknown beats info."""
        if not conditions:
            raise ValueError("can't merge an empty list of conditions")
        order = {type: index for index, type in enumerate(types)}
        ordered = sorted(
            conditions, key=lambda each: (order.get(each.condition.type, 0), each.condition.last_transition_time)
        )
        groups: dict[Weight, list[Reported]] = {weight: [] for weight in Weight}
        for each in ordered:
            groups[self.weigh(each.condition)].append(each)
        issues, unknown, info = groups[Weight.ISSUE], groups[Weight.UNKNOWN], groups[Weight.INFO]
        status: ConditionStatus
        if issues:
            status = "False" if self.positive else "True"
        elif unknown:
            status = "Unknown"
        else:
            status = "True" if self.positive else "False"
        if operation is Operation.SUMMARY:
            message = summary_message(ordered, self.weigh, status, self.transform)
        else:
            message = aggregate_message([*issues, *unknown], info, self.weigh)
        return Merged(status, self.reason(issues, unknown, info), message)
