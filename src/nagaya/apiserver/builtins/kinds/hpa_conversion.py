"""HorizontalPodAutoscalers in their two versions.

They are stored as v2. Version v1 knows one metric, the use of CPU; whatever else a v2 object holds travels through v1
as annotations, so that a client of v1 changes nothing it does not know.
"""

from __future__ import annotations

import json
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.core_goshape import shape
from nagaya.apiserver.meta.status import JsonObject

_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_STATUSES: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
_CARRIED: Final = (_METRICS, _STATUSES, _CONDITIONS, _BEHAVIOR)
_RULES: Final = (
    "StabilizationWindowSeconds=stabilizationWindowSeconds:p SelectPolicy=selectPolicy:p "
    "Policies=policies:[Type=type:s Value=value:i PeriodSeconds=periodSeconds:i] Tolerance=tolerance:p"
)
_BEHAVIOR_SHAPE: Final = f"ScaleUp=scaleUp:*{{{_RULES}}} ScaleDown=scaleDown:*{{{_RULES}}}"
_CPU: Final = 80
_SOURCES: Final = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}


def to_v1(obj: JsonObject) -> JsonObject:
    """A stored autoscaler as version v1 shows it."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    carried: dict[str, str] = {}
    metrics = spec.get("metrics") or []
    others = [_metric_to_v1(each) for each in metrics if not _is_cpu(each)]
    if others:
        carried[_METRICS] = _dumped(others)
    if current := status.get("currentMetrics"):
        carried[_STATUSES] = _dumped([_status_to_v1(each) for each in current])
    if (behavior := spec.get("behavior")) is not None:
        carried[_BEHAVIOR] = _dumped(shape(_BEHAVIOR_SHAPE).of(behavior))
    if conditions := status.get("conditions"):
        order = ("type", "status", "lastTransitionTime", "reason", "message")
        carried[_CONDITIONS] = _dumped([_ordered(each, order) for each in conditions])
    made: JsonObject = {name: spec[name] for name in ("scaleTargetRef", "minReplicas", "maxReplicas") if name in spec}
    for metric in metrics:
        if _is_cpu(metric):
            made["targetCPUUtilizationPercentage"] = metric["resource"]["target"]["averageUtilization"]
            break
    return {**obj, "metadata": _annotated(obj["metadata"], carried), "spec": made, "status": _seen_by_v1(status)}


def _seen_by_v1(status: JsonObject) -> JsonObject:
    fields = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
    made = {name: status[name] for name in fields if name in status}
    # In v1 both numbers are always there.
    for name in ("currentReplicas", "desiredReplicas"):
        made.setdefault(name, 0)
    for metric in status.get("currentMetrics") or ():
        resource = metric.get("resource") or {}
        used = (resource.get("current") or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and used is not None:
            made["currentCPUUtilizationPercentage"] = used
    return made


def to_v2(obj: JsonObject) -> JsonObject:
    """An autoscaler of version v1 as it is stored."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metadata: JsonObject = obj.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    made: JsonObject = {name: spec[name] for name in ("scaleTargetRef", "minReplicas", "maxReplicas") if name in spec}
    target = spec.get("targetCPUUtilizationPercentage")
    metrics = [] if target is None else [_cpu_metric(target)]
    others = _loaded(annotations.get(_METRICS))
    if isinstance(others, list):
        metrics = [*map(_metric_to_v2, others), *metrics]
    made["metrics"] = metrics or [_cpu_metric(_CPU)]
    behavior = _loaded(annotations.get(_BEHAVIOR))
    if isinstance(behavior, dict) and any(each is not None for each in behavior.values()):
        made["behavior"] = {_lower(name): _rules(rules) for name, rules in behavior.items() if rules is not None}
    fields = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
    seen = {name: status[name] for name in fields if name in status}
    if not seen.get("currentReplicas"):
        seen.pop("currentReplicas", None)
    seen.setdefault("desiredReplicas", 0)
    seen["currentMetrics"] = _current_metrics(status, annotations)
    conditions = _loaded(annotations.get(_CONDITIONS))
    if isinstance(conditions, list):
        seen["conditions"] = conditions
    return {**obj, "metadata": _annotated(metadata, {}), "spec": made, "status": seen}


def drop_carried(metadata: JsonObject) -> None:
    """Take the annotations of the passage through v1 off metadata, in place."""
    annotations = metadata.get("annotations")
    if annotations and any(name in annotations for name in _CARRIED):
        metadata["annotations"] = {name: text for name, text in annotations.items() if name not in _CARRIED}


def _current_metrics(status: JsonObject, annotations: JsonObject) -> list[JsonObject] | None:
    current = _loaded(annotations.get(_STATUSES))
    if isinstance(current, list):
        return [_status_to_v2(each) for each in current]
    used = status.get("currentCPUUtilizationPercentage")
    if used is None:
        return None
    return [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": used}}}]


def _annotated(metadata: JsonObject, carried: dict[str, str]) -> JsonObject:
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k not in _CARRIED} | carried
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": annotations} if annotations else rest


def _is_cpu(metric: JsonObject) -> bool:
    resource = metric.get("resource") or {}
    used = (resource.get("target") or {}).get("averageUtilization")
    return metric.get("type") == "Resource" and resource.get("name") == "cpu" and used is not None


def _cpu_metric(percent: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _loaded(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return None


def _lower(name: str) -> str:
    return f"{name[0].lower()}{name[1:]}"


def _rules(rules: JsonObject) -> JsonObject:
    made = {_lower(name): value for name, value in rules.items() if value is not None}
    if "policies" in made:
        made["policies"] = [{_lower(name): value for name, value in each.items()} for each in made["policies"]]
    return made


def _ordered(value: JsonObject, order: tuple[str, ...]) -> JsonObject:
    return {name: value[name] for name in order if name in value}


def _present(**fields: Any) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _reference(described: JsonObject) -> JsonObject:
    return _ordered(described, ("kind", "name", "apiVersion"))


def _metric_to_v1(metric: JsonObject) -> JsonObject:
    made: JsonObject = {"type": metric.get("type") or ""}
    for source in _SOURCES.values():
        if (body := metric.get(source)) is None:
            continue
        target, identity = body.get("target") or {}, body.get("metric") or {}
        average, name, selector = target.get("averageValue"), identity.get("name") or "", identity.get("selector")
        if source == "object":
            made[source] = _present(
                target=_reference(body.get("describedObject") or {}),
                metricName=name,
                targetValue=target.get("value") or "0",
                selector=selector,
                averageValue=average,
            )
        elif source == "pods":
            made[source] = _present(metricName=name, targetAverageValue=average or "0", selector=selector)
        elif source == "external":
            made[source] = _present(
                metricName=name,
                metricSelector=selector,
                targetValue=target.get("value"),
                targetAverageValue=average,
            )
        else:
            made[source] = _present(
                name=body.get("name") or "",
                targetAverageUtilization=target.get("averageUtilization"),
                targetAverageValue=average,
                container=(body.get("container") or "") if source == "containerResource" else None,
            )
    return made


def _metric_to_v2(metric: JsonObject) -> JsonObject:
    made: JsonObject = {"type": metric.get("type") or ""}
    for source in _SOURCES.values():
        if (body := metric.get(source)) is None:
            continue
        selector = body.get("metricSelector") if source == "external" else body.get("selector")
        identity = _present(name=body.get("metricName") or "", selector=selector)
        average, value = body.get("targetAverageValue"), body.get("targetValue")
        if source == "object":
            average = body.get("averageValue")
            kind = "Value" if average is None else "AverageValue"
            shown = (value or "0") if average is None or value not in (None, "", "0") else None
            target = _present(type=kind, value=shown, averageValue=average)
            made[source] = {"describedObject": body.get("target") or {}, "target": target, "metric": identity}
        elif source == "pods":
            made[source] = {"metric": identity, "target": _present(type="AverageValue", averageValue=average or "0")}
        elif source == "external":
            kind = "AverageValue" if value is None else "Value"
            made[source] = {"metric": identity, "target": _present(type=kind, value=value, averageValue=average)}
        else:
            used = body.get("targetAverageUtilization")
            kind = "AverageValue" if used is None else "Utilization"
            target = _present(type=kind, averageValue=average, averageUtilization=used)
            container = body.get("container") if source == "containerResource" else None
            made[source] = _present(name=body.get("name") or "", target=target, container=container)
    return made


def _status_to_v1(metric: JsonObject) -> JsonObject:
    made: JsonObject = {"type": metric.get("type") or ""}
    for source in _SOURCES.values():
        if (body := metric.get(source)) is None:
            continue
        current, identity = body.get("current") or {}, body.get("metric") or {}
        average, value = current.get("averageValue"), current.get("value") or "0"
        name, selector = identity.get("name") or "", identity.get("selector")
        if source == "object":
            made[source] = _present(
                target=_reference(body.get("describedObject") or {}),
                metricName=name,
                currentValue=value,
                selector=selector,
                averageValue=average,
            )
        elif source == "pods":
            made[source] = _present(metricName=name, currentAverageValue=average or "0", selector=selector)
        elif source == "external":
            made[source] = _present(
                metricName=name, metricSelector=selector, currentValue=value, currentAverageValue=average
            )
        else:
            made[source] = _present(
                name=body.get("name") or "",
                currentAverageUtilization=current.get("averageUtilization"),
                currentAverageValue=average or "0",
                container=(body.get("container") or "") if source == "containerResource" else None,
            )
    return made


def _status_to_v2(metric: JsonObject) -> JsonObject:
    made: JsonObject = {"type": metric.get("type") or ""}
    for source in _SOURCES.values():
        if (body := metric.get(source)) is None:
            continue
        selector = body.get("metricSelector") if source == "external" else body.get("selector")
        identity = _present(name=body.get("metricName") or "", selector=selector)
        average, value = body.get("currentAverageValue"), body.get("currentValue") or "0"
        if source == "object":
            current = _present(value=value, averageValue=body.get("averageValue"))
            made[source] = {"metric": identity, "current": current, "describedObject": body.get("target") or {}}
        elif source == "pods":
            made[source] = {"metric": identity, "current": {"averageValue": average or "0"}}
        elif source == "external":
            made[source] = {"metric": identity, "current": _present(value=value, averageValue=average)}
        else:
            used = body.get("currentAverageUtilization")
            current = _present(averageValue=average or "0", averageUtilization=used)
            container = body.get("container") if source == "containerResource" else None
            made[source] = _present(name=body.get("name") or "", current=current, container=container)
    return made
