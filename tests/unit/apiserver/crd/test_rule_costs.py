from __future__ import annotations

import pytest

from nagaya.apiserver.crd.rule_costs import RuleCosts, inside
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta.field_errors import Path

ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


@pytest.mark.parametrize(
    ("cost", "times"),
    [(10_000_001, "1.000000x"), (14_000_000, "1.400000x"), (66_000_000, "6.6x"), (2**64, "more than 100x")],
)
def test_a_rule_that_costs_too_much_is_told_by_how_much(cost: int, times: str) -> None:
    [refusal] = RuleCosts().rule(Path("r"), cost, 1)
    assert str(refusal) == f"r: Forbidden: estimated rule cost exceeds budget by factor of {times} {ADVICE}"


def test_a_rule_counts_once_for_every_value() -> None:
    assert RuleCosts().rule(Path("r"), 10_000, 1000) == []
    assert RuleCosts().rule(Path("r"), 10_000, 1001) != []


def test_rules_that_cost_too_much_together_are_refused_with_the_worst_four() -> None:
    costs = RuleCosts()
    for number in range(11):
        assert costs.rule(Path("r").index(number), 9_000_000 + number, 1) == []
    assert costs.message(Path("m"), 999_999) == []

    refusals = [str(each) for each in costs.all(Path("s"))]

    assert [each.partition(":")[0] for each in refusals] == ["r[10]", "r[9]", "r[8]", "r[7]", "s"]
    assert refusals[-1] == (
        "s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget "
        f"by factor of 1.000001x {ADVICE}"
    )


def test_rules_within_the_limit_are_fine_together() -> None:
    costs = RuleCosts()
    for number in range(10):
        costs.rule(Path("r").index(number), 10_000_000, 1)
    assert costs.all(Path("s")) == []


def test_how_many_values_there_can_be_follows_from_the_schemas_around() -> None:
    text = {"type": "string"}
    assert inside(3, read({"type": "array", "maxItems": 5, "items": text})) == 15
    assert inside(3, read({"type": "object", "maxProperties": 5, "additionalProperties": text})) == 15
    assert inside(3, read({"type": "object", "properties": {"a": text}})) == 3
    assert inside(3, read({"type": "array", "items": text})) is None
    assert inside(None, read({"type": "array", "maxItems": 5, "items": text})) is None
