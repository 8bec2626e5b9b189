from __future__ import annotations

from typing import Any

import pytest

from nagaya.core.machine.deletion.drain.rules import InvalidRule, rules_for
from support.builders import cluster, machine
from support.deletion_seen import rule

MACHINE = machine().labelled({"os": "linux"}).made()
CLUSTER = cluster().labelled({"stage": "production"}).made()


def applies(*machines: Any) -> bool:
    spec: dict[str, Any] = {"machines": [*machines]} if machines else {}
    return bool(rules_for(MACHINE, CLUSTER, [rule("r", "Skip", **spec)]))


def labels(**wanted: str) -> dict[str, Any]:
    return {"matchLabels": wanted}


def test_a_rule_that_names_no_machines_is_for_all() -> None:
    assert applies()
    assert applies({"selector": {}})
    assert applies({})


@pytest.mark.parametrize(
    ("own", "around", "matches"),
    [("linux", "production", True), ("linux", "test", False), ("windows", "production", False)],
)
def test_machine_and_cluster_must_match_in_the_same_entry(own: str, around: str, matches: bool) -> None:
    entry = {"selector": labels(os=own), "clusterSelector": labels(stage=around)}
    assert applies(entry) is matches
    assert applies(entry, {"selector": labels(os="linux")})


def test_rules_are_in_the_order_of_their_names() -> None:
    found = rules_for(MACHINE, CLUSTER, [rule("b", "Skip"), rule("a", "Skip"), rule("a-1", "Skip")])
    assert [each.name for each in found] == ["a", "a-1", "b"]


@pytest.mark.parametrize(("operator", "matches"), [("In", False), ("NotIn", True)])
def test_expressions_are_understood(operator: str, matches: bool) -> None:
    entry = {"selector": {"matchExpressions": [{"key": "os", "operator": operator, "values": ["windows"]}]}}
    assert applies(entry) is matches


def test_a_rule_that_cannot_be_understood_stops_every_drain() -> None:
    bad = rule("bad", "Skip", pods=[{"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}])
    told = (
        'failed to get matching MachineDrainRules: invalid selectors in MachineDrainRule bad: "Like" is not a valid '
        "label selector operator"
    )
    with pytest.raises(InvalidRule) as raised:
        rules_for(MACHINE, CLUSTER, [rule("good", "Skip"), bad])
    assert str(raised.value) == told


def test_namespaces_are_asked_for_only_if_a_rule_needs_them() -> None:
    (plain, asking) = rules_for(
        MACHINE,
        CLUSTER,
        [
            rule("a", "Skip", pods=[{"selector": labels(app="x"), "namespaceSelector": {}}]),
            rule("b", "Skip", pods=[{"namespaceSelector": labels(team="x")}]),
        ],
    )
    assert (plain.asks_namespaces, asking.asks_namespaces) == (False, True)
