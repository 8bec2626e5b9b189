"""Rules of high availability that could never be kept."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.simulators.proxmox.cluster.feasibility import complaints

NODES = ("pve1", "pve2", "pve3")


def placed(resources: str, nodes: str = "pve1", **more: Any) -> dict[str, Any]:
    return {"type": "node-affinity", "resources": resources, "nodes": nodes, **more}


def apart(resources: str, **more: Any) -> dict[str, Any]:
    return {"type": "resource-affinity", "affinity": "negative", "resources": resources, **more}


def together(resources: str, **more: Any) -> dict[str, Any]:
    return {"type": "resource-affinity", "affinity": "positive", "resources": resources, **more}


def test_rules_that_get_along_are_fine() -> None:
    rules = {"a": placed("vm:1,vm:2", "pve1,pve2"), "b": apart("vm:1,vm:2"), "c": together("vm:3,vm:4")}
    assert complaints(rules, NODES) == {}


@pytest.mark.parametrize(
    ("rules", "faulty", "words"),
    [
        ({"a": placed("vm:1"), "b": placed("vm:1,vm:2")}, {"a", "b"}, "'vm:1' is already used in another"),
        ({"a": together("vm:1")}, {"a"}, "less than two resources"),
        ({"a": apart("vm:1,vm:2,vm:3,vm:4")}, {"a"}, "more resources than available nodes"),
        ({"a": together("vm:1,vm:2"), "b": together("vm:2,vm:3"), "c": apart("vm:1,vm:3")}, {"a", "b", "c"}, "shares"),
        ({"a": placed("vm:1", "pve1:2,pve2:1"), "b": apart("vm:1,vm:2")}, {"a", "b"}, "multiple priorities"),
        ({"a": placed("vm:1"), "b": placed("vm:2"), "c": together("vm:1,vm:2")}, {"a", "b", "c"}, "node affinity rule"),
        ({"a": placed("vm:1,vm:2"), "b": apart("vm:1,vm:2")}, {"a", "b"}, "less nodes than available"),
    ],
    ids=["used twice", "too few", "too many", "contradicting", "ranked", "torn", "cramped"],
)
def test_every_rule_that_takes_part_is_at_fault(rules: dict[str, Any], faulty: set[str], words: str) -> None:
    found = complaints(rules, NODES)
    assert found.keys() == faulty
    assert all(any(words in why for why in each) for each in found.values())


def test_a_disabled_rule_counts_for_nothing() -> None:
    assert complaints({"a": placed("vm:1"), "b": placed("vm:1", disable=1)}, NODES) == {}
