"""The rules for HorizontalPodAutoscalers, in the form of version v2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.apps_workload import SPEC
from nagaya.apiserver.builtins.kinds.core_resources import validate_container_name
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.quantity import parse
from nagaya.apiserver.meta.status import JsonObject

_LONGEST_PERIOD: Final = 1800
_LONGEST_WINDOW: Final = 3600
_KINDS: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_ORDER: Final = ("object", "external", "pods", "resource", "containerResource")
_SOURCE_OF: Final[Mapping[str, str]] = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}


def validate_spec(spec: JsonObject, old: JsonObject | None) -> Iterator[FieldError]:
    """What is wrong with a spec; `old` is what it was before."""
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    lowest = 0 if old is not None and old.get("minReplicas") == 0 else 1
    if least is not None and least < lowest:
        yield invalid(SPEC.child("minReplicas"), least, f"must be greater than or equal to {lowest}")
    if most == 0:
        yield required(SPEC.child("maxReplicas"), "must be set and greater than 0")
    elif most < 0:
        yield invalid(SPEC.child("maxReplicas"), most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid(SPEC.child("maxReplicas"), most, "must be greater than or equal to `minReplicas`")
    target, known = spec.get("scaleTargetRef") or {}, (old or {}).get("scaleTargetRef")
    same = known is not None and all(known.get(each) == target.get(each) for each in ("apiVersion", "kind"))
    groupless = target.get("kind") == "ReplicationController"
    yield from _validate_reference(target, SPEC.child("scaleTargetRef"), any_version=same, groupless=groupless)
    lenient = any(map(_is_broken, (old or {}).get("metrics") or ()))
    yield from _validate_metrics(spec, SPEC.child("metrics"), lenient)
    for side in ("scaleUp", "scaleDown"):
        if (rules := (spec.get("behavior") or {}).get(side)) is not None:
            yield from _validate_rules(rules, SPEC.child("behavior", side))


def _is_broken(metric: JsonObject) -> bool:
    described = (metric.get("object") or {}).get("describedObject")
    return described is not None and bool(_version_problem(described.get("apiVersion") or "", groupless=True))


def _version_problem(version: str, *, groupless: bool) -> str:
    if version in ("", "/"):
        return "" if groupless else "apiVersion must specify API group"
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    if "/" not in version and not groupless:
        return "apiVersion must specify API group"
    return ""


def _segment(name: str, path: Path, detail: str = "") -> Iterator[FieldError]:
    if not name:
        yield required(path, detail)
    else:
        yield from (invalid(path, name, problem) for problem in names.path_segment(name))


def _validate_reference(
    reference: JsonObject, path: Path, *, any_version: bool = False, groupless: bool = False
) -> Iterator[FieldError]:
    for field in ("kind", "name"):
        yield from _segment(reference.get(field) or "", path.child(field))
    version = reference.get("apiVersion") or ""
    problem = "" if any_version else _version_problem(version, groupless=groupless)
    if problem:
        yield invalid(path.child("apiVersion"), version, problem)


def _validate_metrics(spec: JsonObject, path: Path, lenient: bool) -> Iterator[FieldError]:
    metrics = spec.get("metrics") or ()
    for position, metric in enumerate(metrics):
        yield from _validate_metric(metric, path.index(position), lenient)
    outside = any(each.get("type") in ("Object", "External") for each in metrics)
    if spec.get("minReplicas") == 0 and not outside:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden(path, detail)


def _validate_metric(metric: JsonObject, path: Path, lenient: bool) -> Iterator[FieldError]:
    kind = metric.get("type") or ""
    if not kind:
        yield required(path.child("type"), "must specify a metric source type")
    if kind not in _KINDS:
        yield not_supported(path.child("type"), kind, _KINDS)
    present = [source for source in _ORDER if metric.get(source) is not None]
    if present:
        yield from _validate_source(present[0], metric[present[0]], path.child(present[0]), lenient)
    expected = _SOURCE_OF.get(kind)
    if expected is None:
        yield not_supported(path.child("type"), kind, _KINDS)
    elif expected not in present:
        yield required(path.child(expected), "must populate information for the given metric source")
    if len(present) != 1:
        for source in present:
            if source != expected:
                yield forbidden(path.child(source), "must populate the given metric source only")


def _validate_source(source: str, body: JsonObject, path: Path, lenient: bool) -> Iterator[FieldError]:
    target, where = body.get("target") or {}, path.child("target")
    value, average = target.get("value"), target.get("averageValue")
    if source == "object":
        described = body.get("describedObject") or {}
        yield from _validate_reference(described, path.child("describedObject"), any_version=lenient, groupless=True)
    if source in ("object", "external", "pods"):
        name = (body.get("metric") or {}).get("name") or ""
        yield from _segment(name, path.child("metric", "name"), "must specify a metric name")
    else:
        yield from _validate_names(source, body, path)
    yield from _validate_target(target, where)
    if source == "object" and value is None and average is None:
        yield required(where.child("averageValue"), "must set either a target value or averageValue")
    elif source == "external":
        if value is None and average is None:
            detail = "must set either a target value for metric or a per-pod target"
            yield required(where.child("averageValue"), detail)
        if value is not None and average is not None:
            detail = "may not set both a target value for metric and a per-pod target"
            yield forbidden(where.child("value"), detail)
    elif source == "pods" and average is None:
        yield required(where.child("averageValue"), "must specify a positive target averageValue")
    elif source in ("resource", "containerResource"):
        used = target.get("averageUtilization")
        if used is None and average is None:
            detail = "must set either a target raw value or a target utilization"
            yield required(where.child("averageUtilization"), detail)
        if used is not None and average is not None:
            yield forbidden(where.child("averageValue"), "may not set both a target raw value and a target utilization")


def _validate_names(source: str, body: JsonObject, path: Path) -> Iterator[FieldError]:
    name = body.get("name") or ""
    if not name:
        yield required(path.child("name"), "must specify a resource name")
    elif source == "containerResource":
        yield from validate_container_name(name, path.child("name"))
    if source == "containerResource":
        container = body.get("container") or ""
        if not container:
            yield required(path.child("container"), "must specify a container")
        else:
            yield from (invalid(path.child("container"), container, each) for each in names.dns_label(container))


def _validate_target(target: JsonObject, path: Path) -> Iterator[FieldError]:
    kind = target.get("type") or ""
    if not kind:
        yield required(path.child("type"), "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(path.child("type"), kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        amount = target.get(field)
        if amount is not None and parse(amount).sign != 1:
            yield invalid(path.child(field), amount, "must be positive")
    used = target.get("averageUtilization")
    if used is not None and used < 1:
        yield invalid(path.child("averageUtilization"), used, "must be greater than 0")


def _validate_rules(rules: JsonObject, path: Path) -> Iterator[FieldError]:
    window, where = rules.get("stabilizationWindowSeconds"), path.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(where, window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        yield invalid(where, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    select = rules.get("selectPolicy")
    if select is not None and select not in ("Disabled", "Max", "Min"):
        yield not_supported(path.child("selectPolicy"), select, ("Disabled", "Max", "Min"))
    policies = rules.get("policies") or ()
    if not policies:
        yield required(path.child("policies"), "must specify at least one Policy")
    for position, policy in enumerate(policies):
        yield from _validate_policy(policy, path.child("policies").index(position))
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse(tolerance).sign < 0:
        yield invalid(path.child("tolerance"), tolerance, "must be greater than or equal to 0")


def _validate_policy(policy: JsonObject, path: Path) -> Iterator[FieldError]:
    kind = policy.get("type") or ""
    if kind not in ("Pods", "Percent"):
        yield not_supported(path.child("type"), kind, ("Percent", "Pods"))
    for field in ("value", "periodSeconds"):
        if (number := policy.get(field) or 0) <= 0:
            yield invalid(path.child(field), number, "must be greater than zero")
    if (period := policy.get("periodSeconds") or 0) > _LONGEST_PERIOD:
        yield invalid(path.child("periodSeconds"), period, f"must be less than or equal to {_LONGEST_PERIOD}")
