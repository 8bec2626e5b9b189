"""The autoscaling group: metrics and their targets on one line, and the scale of other objects."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import NONE, UNKNOWN, UNSET, age, amount, name, spec, status
from nagaya.apiserver.table.columns import AGE, NAME, Cells, Column, TableShape, number, shape, text

_MEMBERS: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


@shape(
    NAME,
    text("Reference", "What is scaled."),
    text("Targets", "The first metrics: what they are, and what they should be."),
    text("MinPods", "The smallest number of pods."),
    text("MaxPods", "The largest number of pods."),
    text("Replicas", "The number of pods."),
    AGE,
)
def HORIZONTAL_POD_AUTOSCALERS(obj: JsonObject, now: datetime) -> Cells:
    wanted, observed = spec(obj), status(obj)
    target: JsonObject = wanted.get("scaleTargetRef") or {}
    minimum = wanted.get("minReplicas")
    return [
        name(obj),
        f"{target.get('kind') or ''}/{target.get('name') or ''}",
        _metrics(wanted, observed),
        UNSET if minimum is None else str(minimum),
        wanted.get("maxReplicas") or 0,
        observed.get("currentReplicas") or 0,
        age(obj, now),
    ]


def _metrics(wanted: JsonObject, observed: JsonObject) -> str:
    metrics: list[JsonObject] = wanted.get("metrics") or []
    states: list[JsonObject] = observed.get("currentMetrics") or []
    if not metrics and wanted.get("targetCPUUtilizationPercentage") is not None:
        metrics, states = _first_version(wanted, observed)
    if not metrics:
        return NONE
    shown = [_metric(metric, states[place] if place < len(states) else {}) for place, metric in enumerate(metrics)]
    if len(shown) > 2:
        return f"{', '.join(shown[:2])} + {len(shown) - 2} more..."
    return ", ".join(shown)


def _first_version(wanted: JsonObject, observed: JsonObject) -> tuple[list[JsonObject], list[JsonObject]]:
    """The one metric that autoscaling/v1 knows, as the later versions say it."""

    def cpu(member: str, percentage: int) -> list[JsonObject]:
        return [{"type": "Resource", "resource": {"name": "cpu", member: {"averageUtilization": percentage}}}]

    current = observed.get("currentCPUUtilizationPercentage")
    return (
        cpu("target", wanted["targetCPUUtilizationPercentage"]),
        [] if current is None else cpu("current", current),
    )


def _metric(metric: JsonObject, state: JsonObject) -> str:
    kind = metric.get("type") or ""
    member = _MEMBERS.get(kind)
    if member is None:
        return "<unknown type>"
    described: JsonObject = metric.get(member) or {}
    target: JsonObject = described.get("target") or {}
    observed: JsonObject | None = state.get(member)
    current: JsonObject = (observed or {}).get("current") or {}
    if kind in ("Resource", "ContainerResource"):
        return f"{described.get('name') or ''}: {_resource(target, observed, current)}"
    average = target.get("averageValue")
    if kind == "Pods" or average is None:
        wanted = "averageValue" if kind == "Pods" else "value"
        now = UNKNOWN if observed is None else _pointer_text(current.get(wanted))
        return f"{now}/{_pointer_text(target.get(wanted))}"
    now = UNKNOWN if current.get("averageValue") is None else amount(current["averageValue"])
    return f"{now}/{amount(average)} (avg)"


def _resource(target: JsonObject, observed: JsonObject | None, current: JsonObject) -> str:
    average = target.get("averageValue")
    if average is not None:
        now = UNKNOWN if observed is None else _pointer_text(current.get("averageValue"))
        return f"{now}/{amount(average)}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return f"{UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _pointer_text(value: str | None) -> str:
    return "<nil>" if value is None else amount(value)


@shape(
    Column(NAME.name, NAME.description),
    number("Desired", "The number of replicas that is wanted."),
    number("Available", "The number of replicas that exist."),
    AGE,
)
def SCALES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), spec(obj).get("replicas") or 0, status(obj).get("replicas") or 0, age(obj, now)]


CUSTOM_SCALES: Final = TableShape((NAME, *SCALES.columns[1:-1], replace(AGE, type="date")), SCALES.row)
"""The scale of custom resources: the same rows under columns of other types."""
