from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.cel.policy_validation import (
    match_condition_errors,
    mutating_policy_errors,
    validating_policy_errors,
)
from nagaya.apiserver.meta.field_errors import Path
from support.subtest_cases import subtest_cases

SPEC = Path("spec")


def findings(spec: dict[str, Any], name: str = "p") -> list[str]:
    return [str(error) for error in validating_policy_errors(name, spec, SPEC)]


def about(expression: str, **spec: Any) -> list[str]:
    return findings({"validations": [{"expression": expression}], **spec})


SOUND = [
    "object.data.a == 'x'",
    "request.userInfo.extra['a'][0] == 'b'",
    "request.options.x == 1",
    "namespaceObject.status.conditions.exists(c, c.type == 'x')",
    "namespaceObject.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')",
    "authorizer.requestResource.check('get').allowed()",
    "object == oldObject",
]
WRONG = [
    ("object.data.a", "must evaluate to bool but got dyn"),
    ("'a'", "must evaluate to bool but got string"),
    ("timestamp(1)", "must evaluate to bool but got google.protobuf.Timestamp"),
    ("optional.of(true)", "must evaluate to bool but got optional_type(bool)"),
    ("{'a': true}", "must evaluate to bool but got map(string, bool)"),
    ("type(1)", "must evaluate to bool but got type(int)"),
    ("request.foo", "compilation failed: ERROR: <input>:1:8: undefined field 'foo'\n | request.foo\n | .......^"),
    (
        "params.x",
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x\n | ^",
    ),
    (
        "Object{}",
        "compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')\n | Object{}\n"
        " | ......^",
    ),
]


@pytest.mark.parametrize("expression", SOUND)
def test_a_sound_validation_is_accepted(expression: str) -> None:
    assert about(expression) == []


@subtest_cases(("expression", "detail"), WRONG)
def test_a_wrong_validation_is_told_with_its_text(expression: str, detail: str) -> None:
    assert about(expression) == [f'spec.validations[0].expression: Invalid value: "{expression}": {detail}']


def test_what_is_not_about_the_text_is_an_internal_error() -> None:
    assert about("int('x') == 1") == [
        "spec.validations[0].expression: Internal error: program instantiation failed: type conversion error from"
        " 'string' to 'int'"
    ]


def test_a_policy_has_to_do_something() -> None:
    detail = "Required value: validations or auditAnnotations must contain at least one item"
    assert findings({}) == [f"spec.validations: {detail}", f"spec.auditAnnotations: {detail}"]


def test_messages_and_reasons_are_checked() -> None:
    spec = {
        "validations": [
            {"expression": " ", "messageExpression": "1", "message": "a\nb", "reason": "Foo"},
            {"expression": "true", "messageExpression": " ", "message": " "},
            {"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"},
        ]
    }
    first, second = "spec.validations[0]", "spec.validations[1]"
    found = findings(spec)
    assert found[:6] == [
        f"{first}.expression: Required value: expression is not specified",
        f'{first}.messageExpression: Invalid value: "1": must evaluate to string but got int',
        f'{first}.message: Invalid value: "a\\nb": must not contain line breaks',
        f'{first}.reason: Unsupported value: "Foo": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        f'{second}.messageExpression: Invalid value: " ": must be non-empty if specified',
        f'{second}.message: Invalid value: " ": must be non-empty if specified',
    ]
    assert "undeclared reference to 'authorizer'" in found[6]


def test_variables_are_known_to_what_comes_after_them() -> None:
    variables = [{"name": "x", "expression": "1"}, {"name": "y", "expression": "variables.x + 1"}]
    assert about("variables.y == 2", variables=variables) == []
    (found,) = about("variables.y == 'a'", variables=variables)
    assert "found no matching overload for '_==_' applied to '(int, string)'" in found
    (found,) = about("true", variables=variables[::-1])
    assert "undefined field 'x'" in found


def test_variables_need_names_that_expressions_can_write() -> None:
    variables = [{"name": "for", "expression": "1"}, {"name": "", "expression": " "}]
    assert about("true", variables=variables) == [
        'spec.variables[0].name: Invalid value: "for": must be a valid CEL identifier',
        "spec.variables[1].name: Required value: name is not specified",
        "spec.variables[1].expression: Required value: expression is not specified",
    ]


def test_audit_annotations_are_text_or_null() -> None:
    annotations = [
        {"key": "a", "valueExpression": "1"},
        {"key": "a", "valueExpression": " "},
        {"key": "b", "valueExpression": "null"},
    ]
    where = "spec.auditAnnotations"
    assert findings({"auditAnnotations": annotations}) == [
        f'{where}[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int',
        f"{where}[1].valueExpression: Required value: valueExpression is not specified",
        f'{where}[1].key: Duplicate value: "a"',
    ]
    assert findings({"auditAnnotations": [{"key": "a", "valueExpression": "'x'"}]}, name="") == [
        f'{where}[0].key: Invalid value: "a": requires metadata.name be non-empty'
    ]


def test_match_conditions_are_named_and_true_or_false() -> None:
    conditions = [
        {"name": "a", "expression": "true"},
        {"name": "a", "expression": "1"},
        {"name": "", "expression": ""},
        {"name": "b", "expression": "variables.x"},
    ]
    found = [str(error) for error in match_condition_errors(conditions, Path("matchConditions"))]
    assert found[:4] == [
        'matchConditions[1].expression: Invalid value: "1": must evaluate to bool but got int',
        'matchConditions[1].name: Duplicate value: "a"',
        "matchConditions[2].expression: Required value",
        "matchConditions[2].name: Required value",
    ]
    assert "undeclared reference to 'variables'" in found[4]
    too_many = match_condition_errors([{"name": f"c{n}", "expression": "true"} for n in range(65)], Path("m"))
    assert [str(error) for error in too_many] == ["m: Too many: 65: must have at most 64 items"]


@subtest_cases(
    ("mutation", "expected"),
    [
        ({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/a'}]"}}, []),
        ({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{a: Object.a{}}"}}, []),
        ({"patchType": ""}, ["patchType: Required value"]),
        (
            {"patchType": "Foo"},
            ['patchType: Unsupported value: "Foo": supported values: "ApplyConfiguration", "JSONPatch"'],
        ),
        ({"patchType": "JSONPatch"}, ["jsonPatch: Required value: must be specified when patchType is JSONPatch"]),
        (
            {"patchType": "JSONPatch", "jsonPatch": {"expression": " "}, "applyConfiguration": {"expression": "x"}},
            [
                "jsonPatch.expression: Required value",
                'applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is'
                " JSONPatch",
            ],
        ),
        (
            {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{foo: 1}]"}},
            [
                'jsonPatch.expression: Invalid value: "[JSONPatch{foo: 1}]": compilation failed: ERROR: <input>:1:15:'
                " expected type of field 'foo' is '' but provided type is 'int'\n | [JSONPatch{foo: 1}]\n"
                " | ..............^"
            ],
        ),
        (
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object.spec{}"}},
            [
                'applyConfiguration.expression: Invalid value: "Object.spec{}": must evaluate to Object but got'
                " Object.spec"
            ],
        ),
    ],
)
def test_mutations_are_checked_by_their_kind(mutation: dict[str, Any], expected: list[str]) -> None:
    found = mutating_policy_errors({"mutations": [mutation]}, SPEC)
    assert [str(error) for error in found] == [f"spec.mutations[0].{each}" for each in expected]


def test_a_mutating_policy_has_to_mutate() -> None:
    assert [str(error) for error in mutating_policy_errors({}, SPEC)] == [
        "spec.mutations: Required value: mutations must contain at least one item"
    ]
