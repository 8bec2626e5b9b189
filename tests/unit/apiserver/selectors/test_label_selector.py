from typing import Any

import pytest

from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.selectors import label_selector, labels
from nagaya.apiserver.selectors.requirement import SelectorError


def expression(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert label_selector.compiled(None) is labels.NOTHING
    assert label_selector.compiled({}) is labels.EVERYTHING
    assert label_selector.compiled({"matchLabels": None, "matchExpressions": []}) is labels.EVERYTHING


def test_labels_and_expressions_all_have_to_match() -> None:
    selector = label_selector.compiled(
        {
            "matchLabels": {"x": "1"},
            "matchExpressions": [expression("In", "b", "c"), expression("DoesNotExist", key="y")],
        }
    )
    assert str(selector) == "a in (b,c),x=1,!y"
    assert selector.matches({"x": "1", "a": "c"})
    assert not selector.matches({"x": "1", "a": "c", "y": ""})
    assert not selector.matches({"x": "1"})


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ({"matchExpressions": [expression("Equals", "b")]}, '"Equals" is not a valid label selector operator'),
        (
            {"matchExpressions": [expression("NotIn")]},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
    ],
)
def test_a_selector_that_cannot_match_is_refused(selector: dict[str, Any], problem: str) -> None:
    with pytest.raises(SelectorError) as raised:
        label_selector.compiled(selector)
    assert str(raised.value) == problem


def test_a_selector_in_an_object_is_validated() -> None:
    selector = {
        "matchLabels": {"-": "b"},
        "matchExpressions": [
            expression("In"),
            expression("Exists", "x"),
            expression("Foo"),
            expression("In", "-", key=""),
        ],
    }
    found = [(error.field, str(error.cause)) for error in label_selector.validate(selector, Path("spec.selector"))]
    assert found == [
        ("spec.selector.matchLabels", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[0].values", "FieldValueRequired"),
        ("spec.selector.matchExpressions[1].values", "FieldValueForbidden"),
        ("spec.selector.matchExpressions[2].operator", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[3].key", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[3].key", "FieldValueInvalid"),
        ("spec.selector.matchExpressions[3].values[0]", "FieldValueInvalid"),
    ]
    assert label_selector.validate(None, Path("spec.selector")) == []


def test_values_from_before_the_rule_may_stay() -> None:
    old = {"matchExpressions": [expression("In", "-")]}
    assert label_selector.has_invalid_value(old)
    assert not label_selector.has_invalid_value(None)
    assert label_selector.validate(old, Path("s"), invalid_values_allowed=True) == []


def test_operators_that_nobody_knows_may_be_allowed() -> None:
    assert (
        label_selector.validate({"matchExpressions": [expression("Foo")]}, Path("s"), unknown_operators_allowed=True)
        == []
    )
