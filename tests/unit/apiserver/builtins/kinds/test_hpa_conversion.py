"""Autoscalers in their two versions."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins.kinds.hpa_conversion import to_v1, to_v2

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def metric(kind: str, amount: int) -> dict[str, Any]:
    average = {"type": "AverageValue", "averageValue": str(amount)}
    named = {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": average}
    bodies: dict[str, dict[str, Any]] = {
        "Pods": {"pods": named},
        "External": {"external": named},
        "Object": {"object": {**named, "describedObject": TARGET}},
        "Resource": {"resource": {"name": "memory", "target": average}},
        "ContainerResource": {"containerResource": {"name": "cpu", "container": "c", "target": average}},
    }
    return {"type": kind, **bodies[kind]}


KINDS = st.sampled_from(["Pods", "External", "Object", "Resource", "ContainerResource"])


@given(st.lists(st.builds(metric, KINDS, st.integers(1, 99)), min_size=1, max_size=4), st.booleans())
def test_the_way_through_the_older_version_loses_nothing(metrics: list[dict[str, Any]], behaves: bool) -> None:
    rules = {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}
    spec = {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 3, "metrics": metrics}
    if behaves:
        spec["behavior"] = {"scaleUp": rules, "scaleDown": rules}
    stored = {"metadata": {"name": "h", "annotations": {"a": "b"}}, "spec": spec, "status": {"desiredReplicas": 2}}
    back = to_v2(to_v1(stored))
    assert (back["metadata"], back["spec"]) == (stored["metadata"], stored["spec"])


def test_the_use_of_cpu_is_a_number_in_the_older_version() -> None:
    old = {"metadata": {"name": "h"}, "spec": {"scaleTargetRef": TARGET, "targetCPUUtilizationPercentage": 50}}
    target = {"type": "Utilization", "averageUtilization": 50}
    assert to_v2(old)["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert to_v1(to_v2(old))["spec"] == old["spec"]
