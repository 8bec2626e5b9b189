"""The message of a summary: one line for each condition that matters, in order of relevance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nagaya.api.meta import ConditionStatus
from nagaya.kube.conditions.bullets import after_colon
from nagaya.kube.conditions.source import Reported
from nagaya.kube.conditions.weight import Weigh, Weight


def summary_message(
    conditions: Sequence[Reported],
    weigh: Weigh,
    status: ConditionStatus,
    transform: Callable[[list[str]], list[str]] | None = None,
) -> str:
    """Lines `* Type: message`. Good news is told only when there is nothing else, and only if it has a message."""
    lines: list[str] = []
    for each in conditions:
        condition = each.condition
        if weigh(condition) is Weight.INFO and (status != "True" or not condition.message):
            continue
        text = after_colon(condition.message) if condition.message else f" {condition.reason}"
        lines.append(f"* {condition.type}:{text}")
    return "\n".join(lines if transform is None else transform(lines))
