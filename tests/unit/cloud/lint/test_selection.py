"""Node selectors and affinities, with labels that are known, unknown or excluded."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.cloud.lint.selection import Match, NodeLabels, fits, selected_labels, selects
from support.subtest_cases import subtest_cases

NODE = NodeLabels({"role": "cp", "name": None}, absent=frozenset({"zone"}))


def _affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@subtest_cases(
    ("pod", "expected"),
    [
        ({}, Match.YES),
        ({"nodeSelector": {"role": "cp"}}, Match.YES),
        ({"nodeSelector": {"role": "worker"}}, Match.NO),
        ({"nodeSelector": {"name": "a"}}, Match.MAYBE),
        ({"nodeSelector": {"disk": "ssd"}}, Match.MAYBE),
        ({"nodeSelector": {"zone": "a"}}, Match.NO),
        ({"nodeSelector": {"role": "cp", "disk": "ssd"}}, Match.MAYBE),
        (_affinity([_expression("role", "Exists")]), Match.YES),
        (_affinity([_expression("zone", "Exists")], [_expression("role", "In", "cp")]), Match.YES),
        (_affinity([_expression("zone", "DoesNotExist")]), Match.YES),
        (_affinity([_expression("role", "NotIn", "cp")]), Match.NO),
        (_affinity([_expression("disk", "DoesNotExist")]), Match.MAYBE),
        (_affinity([_expression("cores", "Gt", "4")]), Match.MAYBE),
        (_affinity([]), Match.NO),  # a term without requirements selects nothing
        (_affinity(), Match.NO),
        ({"nodeSelector": {"role": "x"}, **_affinity([_expression("role", "Exists")])}, Match.NO),
        ({"nodeSelector": "nonsense"}, Match.YES),
    ],
)
def test_a_pod_fits_by_what_is_known(pod: dict[str, Any], expected: Match) -> None:
    assert fits(pod, NODE) is expected


def test_fields_of_a_node_are_not_known_before_it_exists() -> None:
    pod = _affinity([_expression("role", "Exists")])
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    required["nodeSelectorTerms"][0]["matchFields"] = [_expression("metadata.name", "In", "a")]

    assert fits(pod, NODE) is Match.MAYBE


def test_labels_that_are_asked_for_are_told() -> None:
    pod = {"nodeSelector": {"a": "1"}, **_affinity([_expression("b", "Exists"), _expression("c", "DoesNotExist")])}

    assert selected_labels(pod) == {"a", "b"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [_expression("a", "In", "1", "2")]}, True),
        ({"matchExpressions": [_expression("a", "NotIn", "1")]}, False),
        ({"matchExpressions": [_expression("b", "DoesNotExist")]}, True),
    ],
)
def test_a_label_selector_selects(selector: object, expected: bool) -> None:
    assert selects(selector, {"a": "1"}) is expected
