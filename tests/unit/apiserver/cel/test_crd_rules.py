from __future__ import annotations

import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from nagaya.apiserver.cel.crd_rules import NodeRules, compile_rules
from nagaya.apiserver.crd.rules import Budget, RuleFailure
from nagaya.apiserver.meta.field_errors import Cause
from nagaya.apiserver.schema.types import MISSING
from support.subtest_cases import subtest_cases

# Rules on one object that has a field of every kind, with what the real server says about each on creation and, where
# that differs, on update.
TABLE = json.loads(Path(__file__).with_name("rule_cases.json").read_text())
SCHEMA = {"type": "object", "properties": TABLE["properties"]}
OBJECT = TABLE["object"]
OLD = {**OBJECT, **TABLE["old"]}
FINDING = re.compile(r"^ERROR: <input>:(.*)$", re.MULTILINE)


def rules_of(*rules: dict[str, Any], schema: dict[str, Any] = SCHEMA, root: bool = False) -> NodeRules:
    return compile_rules({**schema, "x-kubernetes-validations": list(rules)}, resource_root=root)


def outcome(rule: str, old: Any) -> str:
    rules = rules_of({"rule": rule})
    if rules.problems:
        detail = rules.problems[0].detail
        return "refused " + ("; ".join(FINDING.findall(detail)) or detail)
    failures = rules.check(OBJECT, old, Budget())
    return failures[0].message.replace(f": {rule.strip()}", ": <rule>") if failures else "holds"


def failure(rule: dict[str, Any], value: Any = OBJECT, old: Any = MISSING) -> RuleFailure:
    (found,) = rules_of(rule).check(value, old, Budget())
    return found


@subtest_cases("case", TABLE["cases"], ids=itemgetter(0))
def test_a_rule_sees_the_object_as_in_the_real_server(case: list[str]) -> None:
    rule, on_creation, *on_update = case
    assert outcome(rule, MISSING) == on_creation
    assert outcome(rule, OLD) == (on_update[0] if on_update else on_creation)


def test_a_compile_error_shows_the_line_and_the_place() -> None:
    (problem,) = rules_of({"rule": "self.nope == 1"}).problems
    assert problem.member == "rule"
    assert problem.detail == (
        "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope == 1\n | ....^"
    )


def test_types_of_objects_are_named_by_their_path() -> None:
    (problem,) = rules_of({"rule": "self.lo[0] == self.o.y"}).problems
    assert "applied to '(selfType.lo.@idx, selfType.o.y)'" in problem.detail


@subtest_cases(
    ("rule", "message"),
    [
        ({}, "failed rule: self.i > 10"),
        ({"message": "  too small "}, "too small"),
        ({"messageExpression": "'i is %d'.format([self.i])"}, "i is 5"),
        ({"messageExpression": "'  x  '"}, "x"),
        ({"messageExpression": "''", "message": "fallback"}, "fallback"),
        ({"messageExpression": r"'a\nb'", "message": "fallback"}, "fallback"),
        ({"messageExpression": "string(1 / (self.i - 5))", "message": "fallback"}, "fallback"),
        ({"messageExpression": "self.ns"}, "failed rule: self.i > 10"),
        ({"messageExpression": "'x'.replace('', '" + "y" * 6000 + "')"}, "failed rule: self.i > 10"),
    ],
)
def test_the_message_is_what_the_expression_says_or_else_the_fixed_one(rule: dict[str, Any], message: str) -> None:
    assert failure({"rule": "self.i > 10", **rule}).message == message


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "self.i > oldSelf.i", "messageExpression": "'was %d'.format([oldSelf.i])"}, "was 5"),
        (
            {"rule": "self.i > 10", "messageExpression": "'was %d'.format([oldSelf.i])", "message": "fallback"},
            "fallback",
        ),
        (
            {
                "rule": "self.i > oldSelf.value().i",
                "optionalOldSelf": True,
                "messageExpression": "oldSelf.hasValue() ? 'was there' : 'is new'",
                "message": "fallback",
            },
            "fallback",
        ),
    ],
)
def test_a_message_sees_the_old_value_if_its_rule_does_and_it_is_not_optional(
    rule: dict[str, Any], message: str
) -> None:
    assert failure(rule, old=OBJECT).message == message


def test_a_message_expression_must_compile_to_text() -> None:
    rules = rules_of(
        {"rule": "true", "messageExpression": "self.i"},
        {"rule": "true", "messageExpression": "self.nope"},
    )
    assert [(each.index, each.member) for each in rules.problems] == [
        (0, "messageExpression"),
        (1, "messageExpression"),
    ]
    assert rules.problems[0].detail == "messageExpression must evaluate to a string"
    assert rules.problems[1].detail.startswith("messageExpression compilation failed: ERROR: <input>:1:5: undefined")


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (None, Cause.INVALID),
        ("FieldValueInvalid", Cause.INVALID),
        ("FieldValueForbidden", Cause.FORBIDDEN),
        ("FieldValueRequired", Cause.REQUIRED),
        ("FieldValueDuplicate", Cause.DUPLICATE),
    ],
)
def test_the_reason_becomes_the_cause(reason: str | None, cause: Cause) -> None:
    assert failure({"rule": "false", "reason": reason}).cause is cause


@subtest_cases(
    ("field_path", "normalized"),
    [
        (".i", "i"),
        (".o.y.z", "o.y.z"),
        ("['my-dash']", "my-dash"),
        (".m['a']", "m[a]"),
        (".m.a", "m[a]"),
        (".mo['p'].x", "mo[p].x"),
        (".nope", ""),
        ("i", ""),
        (".li[0]", ""),
    ],
)
def test_a_field_path_is_written_as_in_field_errors(field_path: str, normalized: str) -> None:
    assert failure({"rule": "false", "fieldPath": field_path}).field_path == normalized


def test_a_rule_that_mentions_the_old_value_needs_one() -> None:
    rules = rules_of({"rule": "self.i == oldSelf.i"}, {"rule": "self.i > 0"})
    assert list(rules.transitions) == [True, False]
    assert rules.check(OBJECT, MISSING, Budget()) == []
    (found,) = rules.check(OBJECT, OLD, Budget())
    assert found.transition


@pytest.mark.parametrize(
    ("rule", "on_creation", "on_update"),
    [
        ("oldSelf.hasValue()", False, True),
        ("!oldSelf.hasValue()", True, False),
        ("oldSelf.optMap(o, o.i).orValue(0) == 4", False, True),
        ("oldSelf.i.orValue(0) == 4", False, True),
        ("oldSelf.?i.orValue(0) == 4", False, True),
        ("oldSelf.orValue(self).i == self.i", True, False),
    ],
)
def test_an_optional_old_value_is_there_on_update_only(rule: str, on_creation: bool, on_update: bool) -> None:
    rules = rules_of({"rule": rule, "optionalOldSelf": True})
    assert (rules.check(OBJECT, MISSING, Budget()) == []) is on_creation
    assert (rules.check(OBJECT, OLD, Budget()) == []) is on_update


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("self.metadata.name == 'n'", True),
        ("has(self.metadata.generateName)", False),
        ("self.kind == 'K' && self.apiVersion == 'a'", True),
        ("self.spec.a == 1", True),
    ],
)
def test_a_whole_object_has_its_kind_and_names(rule: str, holds: bool) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    value = {"apiVersion": "a", "kind": "K", "metadata": {"name": "n", "labels": {"x": "y"}}, "spec": {"a": 1}}
    rules = rules_of({"rule": rule}, schema=schema, root=True)
    assert (rules.check(value, MISSING, Budget()) == []) is holds


def test_other_metadata_of_a_whole_object_cannot_be_seen() -> None:
    (problem,) = rules_of({"rule": "self.metadata.labels == {}"}, schema={"type": "object"}, root=True).problems
    assert "undefined field 'labels'" in problem.detail


@pytest.mark.parametrize(
    ("schema", "value", "rule", "message"),
    [
        ({"type": "integer"}, 1.0, "self > 5", "invalid data, expected int, got float64 evaluating rule: self > 5"),
        (
            {"type": "string", "format": "date-time"},
            "x",
            "self > timestamp(0)",
            'Invalid date-time formatted string x: parsing time "x" as "2006-01-02T15:04:05": cannot parse "x" as'
            ' "2006" evaluating rule: self > timestamp(0)',
        ),
        (
            {"type": "string", "format": "date"},
            "2020-02-30",
            "self > timestamp(0)",
            'Invalid date formatted string 2020-02-30: parsing time "2020-02-30": day out of range evaluating rule:'
            " self > timestamp(0)",
        ),
        (
            {"type": "string", "format": "byte"},
            "%%",
            "self == b''",
            "Invalid byte formatted string %%: illegal base64 data at input byte 0 evaluating rule: self == b''",
        ),
        (
            {"x-kubernetes-int-or-string": True},
            "5%",
            "self > 5",
            "'no such overload': call arguments did not match a supported operator, function or macro signature for"
            " rule: self > 5",
        ),
    ],
)
def test_data_that_does_not_fit_its_schema_breaks_the_rule(
    schema: dict[str, Any], value: Any, rule: str, message: str
) -> None:
    (found,) = rules_of({"rule": rule}, schema=schema).check(value, MISSING, Budget())
    assert found.broken
    assert found.message == message


def test_an_expensive_rule_is_cut_off_and_stops_the_others() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    rules = rules_of({"rule": "self.all(x, self.all(y, x + y >= 0))"}, {"rule": "false"}, schema=schema)
    (found,) = rules.check([1] * 5000, MISSING, Budget())
    assert found.fatal
    assert found.message == (
        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost"
        " exceeds limit for rule: self.all(x, self.all(y, x + y >= 0))"
    )


def test_rules_of_an_object_share_a_budget() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    rules = rules_of({"rule": "self.all(x, x > 0)"}, schema=schema)
    budget = Budget(20_000)
    assert rules.check([1] * 1000, MISSING, budget) == []
    assert 0 < budget.left < 20_000
    while not (found := rules.check([1] * 1000, MISSING, budget)):
        pass
    assert found[0].fatal
    assert found[0].message == (
        "validation failed due to running out of cost budget, no further validation rules will be run"
    )


def test_rules_on_data_of_which_nothing_is_known_never_run() -> None:
    schema = {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}}
    rules = rules_of({"rule": "size(self) > 5"}, schema=schema)
    assert rules.problems[0].cause is Cause.INTERNAL
    assert rules.check([1], MISSING, Budget()) == []


def test_an_empty_rule_is_passed_over() -> None:
    rules = rules_of({"rule": " "})
    assert rules.problems == []
    assert rules.check(OBJECT, MISSING, Budget()) == []
