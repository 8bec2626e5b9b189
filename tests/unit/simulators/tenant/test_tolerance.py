"""Which pods may be on which nodes."""

from __future__ import annotations

from typing import Any

from nagaya.simulators.tenant.tolerance import patience, selects, tolerates
from nagaya.simulators.tenant.view import NodeSeen
from support.subtest_cases import subtest_cases

TAINT = {"key": "k", "value": "v", "effect": "NoExecute"}


def node(**labels: str) -> NodeSeen:
    return NodeSeen("n1", "u", labels, (), False, "True", (), (4000, 4000), 110, frozenset())


@subtest_cases(
    ("toleration", "covers"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, False),
        ({"key": "k"}, False),
    ],
)
def test_a_toleration_covers_by_key_value_and_effect(toleration: dict[str, Any], covers: bool) -> None:
    assert tolerates([toleration], TAINT) is covers


def test_the_shortest_limit_of_the_tolerations_that_cover_a_taint_counts() -> None:
    forever = {"operator": "Exists"}
    assert patience([], TAINT) == 0
    assert patience([forever], TAINT) is None
    assert patience([forever, {**forever, "tolerationSeconds": 300}, {**forever, "tolerationSeconds": 30}], TAINT) == 30
    assert patience([{**forever, "tolerationSeconds": -5}], TAINT) == 0


def affinity(*expressions: dict[str, Any], fields: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    term: dict[str, Any] = {"matchExpressions": list(expressions)}
    if fields:
        term["matchFields"] = fields
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


@subtest_cases(
    ("spec", "fits"),
    [
        ({}, True),
        ({"nodeSelector": {"pool": "a"}}, True),
        ({"nodeSelector": {"pool": "b"}}, False),
        (affinity({"key": "pool", "operator": "In", "values": ["a", "b"]}), True),
        (affinity({"key": "pool", "operator": "NotIn", "values": ["a"]}), False),
        (affinity({"key": "zone", "operator": "Exists"}), False),
        (affinity({"key": "zone", "operator": "DoesNotExist"}), True),
        (affinity({"key": "size", "operator": "Gt", "values": ["3"]}), True),
        (affinity({"key": "size", "operator": "Lt", "values": ["3"]}), False),
        (affinity({"key": "pool", "operator": "Lt", "values": ["3"]}), False),
        (affinity(), False),
        (affinity(fields=[{"key": "metadata.name", "operator": "In", "values": ["n1"]}]), True),
        (affinity(fields=[{"key": "metadata.name", "operator": "In", "values": ["n2"]}]), False),
    ],
)
def test_selectors_and_required_affinity_choose_nodes(spec: dict[str, Any], fits: bool) -> None:
    assert selects(spec, node(pool="a", size="4")) is fits
