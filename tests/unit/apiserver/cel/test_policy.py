from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import NO_OPINION, Decision
from nagaya.apiserver.authz.authorizer import Verdict as Answer
from nagaya.apiserver.cel.policy import MatchConditions, ValidatingPolicy, Verdict
from nagaya.apiserver.cel.policy_expressions import Input
from support.subtest_cases import subtest_cases

REQUEST = {
    "uid": "",
    "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    "resource": {"group": "", "version": "v1", "resource": "configmaps"},
    "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
    "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
    "name": "cm",
    "namespace": "default",
    "operation": "CREATE",
    "userInfo": {"username": "alice", "groups": ["system:masters"]},
    "dryRun": True,
    "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
}
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"a": "x"}}
NAMESPACE = {
    "metadata": {"name": "default", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z", "labels": {"l": "v"}},
    "status": {"phase": "Active"},
}


class Masters:
    """Allows members of system:masters, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []

    def authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        return Decision(Answer.ALLOW, "master") if "system:masters" in attributes.user.groups else NO_OPINION


def given(**more: Any) -> Input:
    user = User("alice", groups=("system:masters",))
    return Input(REQUEST, OBJECT, None, NAMESPACE, user=user, authorizer=Masters(), **more)


def message(expression: str, **spec: Any) -> str:
    """What a policy with this validation says, nothing if it admits."""
    (decision,) = ValidatingPolicy({"validations": [{"expression": expression}], **spec}).validate(given()).decisions
    assert decision.denies is (decision.verdict is not Verdict.ADMIT)
    return decision.message


ADMITTED = [
    "object.data.a == 'x'",
    "oldObject == null",
    "request.operation == 'CREATE' && request.dryRun",
    "request.userInfo.groups.exists(g, g == 'system:masters')",
    "request.requestKind.kind == 'ConfigMap'",
    "!has(request.subResource) && !has(request.userInfo.extra)",
    "request.options.kind == 'CreateOptions'",
    "namespaceObject.metadata.labels['l'] == 'v'",
    "namespaceObject.status.phase == 'Active'",
    "authorizer.group('').resource('pods').namespace('x').check('get').allowed()",
    "authorizer.requestResource.check('delete').reason() == 'master'",
    "authorizer.path('/healthz').check('get').allowed()",
    "!authorizer.serviceAccount('default', 'robot').group('').resource('pods').check('get').allowed()",
    "!authorizer.requestResource.check('get').errored()",
    "object.metadata.?labels[?'q'].orValue('d') == 'd'",
]
DENIED = [
    ("object.data.a == 'z'", "failed expression: object.data.a == 'z'"),
    (
        "object.data.nope == 'z'",
        "expression 'object.data.nope == 'z'' resulted in error: no such key: nope",
    ),
    ("oldObject.data.a == 'x'", "expression 'oldObject.data.a == 'x'' resulted in error: no such key: data"),
    ("1/0 == 1", "expression '1/0 == 1' resulted in error: division by zero"),
    (
        "namespaceObject.metadata.UID == 'u'",
        "expression 'namespaceObject.metadata.UID == 'u'' resulted in error: no such key: UID",
    ),
    (
        "namespaceObject.metadata.creationTimestamp < timestamp(0)",
        "expression 'namespaceObject.metadata.creationTimestamp < timestamp(0)' resulted in error: no such overload",
    ),
    (
        "authorizer.path(' ').check('get').allowed()",
        "expression 'authorizer.path(' ').check('get').allowed()' resulted in error: path must not be empty",
    ),
    (
        "authorizer.serviceAccount('BAD', 'x').path('/').check('get').allowed()",
        "expression 'authorizer.serviceAccount('BAD', 'x').path('/').check('get').allowed()' resulted in error: Invalid"
        " service account namespace",
    ),
    (
        "nope",
        "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n"
        " | nope\n | ^",
    ),
    ("object.data.a", "compilation error: must evaluate to bool but got dyn"),
]


@subtest_cases("expression", ADMITTED)
def test_a_validation_that_holds_admits(expression: str) -> None:
    assert message(expression) == ""


@subtest_cases(("expression", "expected"), DENIED)
def test_a_validation_that_fails_says_why(expression: str, expected: str) -> None:
    assert message(expression) == expected


def test_checks_ask_for_what_they_say() -> None:
    authorizer = Masters()
    expression = (
        "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('d')"
        ".fieldSelector('metadata.name=d').labelSelector('a=b').check('update').allowed()"
    )
    ValidatingPolicy({"validations": [{"expression": expression}]}).validate(
        Input(REQUEST, OBJECT, user=User("alice"), authorizer=authorizer)
    )
    (asked,) = authorizer.asked
    assert (asked.verb, asked.group, asked.resource, asked.subresource) == ("update", "apps", "deployments", "scale")
    assert (asked.namespace, asked.name, len(asked.fields), len(asked.labels)) == ("n", "d", 1, 1)


def test_variables_are_evaluated_once_and_only_when_used() -> None:
    authorizer = Masters()
    spec = {
        "variables": [
            {"name": "may", "expression": "authorizer.requestResource.check('get').allowed()"},
            {"name": "unused", "expression": "authorizer.requestResource.check('list').allowed()"},
            {"name": "twice", "expression": "variables.may && variables.may"},
        ],
        "validations": [{"expression": "variables.twice"}, {"expression": "variables.may"}],
    }
    outcome = ValidatingPolicy(spec).validate(Input(REQUEST, OBJECT, user=User("a"), authorizer=authorizer))
    assert [decision.verdict for decision in outcome.decisions] == [Verdict.DENY, Verdict.DENY]
    assert [asked.verb for asked in authorizer.asked] == ["get"]


def test_a_variable_that_fails_is_named() -> None:
    variables = [{"name": "v", "expression": "object.nope == 1"}]
    assert message("variables.v", variables=[{"name": "v", "expression": "object.nope == 1"}]) == (
        "expression 'variables.v' resulted in error: composited variable \"v\" fails to evaluate: no such key: nope"
    )
    assert variables[0]["name"] == "v"


def test_parameters_are_seen_by_policies_that_declare_them() -> None:
    spec = {"paramKind": {"kind": "ConfigMap"}, "validations": [{"expression": "params.data.max == 'x'"}]}
    (decision,) = ValidatingPolicy(spec).validate(given(params={"data": {"max": "x"}})).decisions
    assert decision.verdict is Verdict.ADMIT


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ({"message": " no way "}, "no way"),
        ({"messageExpression": "'not ' + object.metadata.name"}, "not cm"),
        ({"messageExpression": r"'a\nb'", "message": "fallback"}, "fallback"),
        ({"messageExpression": "string(object.nope)", "message": "fallback"}, "fallback"),
        ({"messageExpression": "''"}, "failed expression: false"),
    ],
)
def test_the_message_of_a_denial(validation: dict[str, str], expected: str) -> None:
    policy = ValidatingPolicy({"validations": [{"expression": "false", "reason": "Forbidden", **validation}]})
    (decision,) = policy.validate(given()).decisions
    assert (decision.message, decision.reason) == (expected, "Forbidden")


def test_failures_can_be_ignored_but_denials_cannot() -> None:
    policy = ValidatingPolicy(
        {"failurePolicy": "Ignore", "validations": [{"expression": "1/0 == 1"}, {"expression": "false"}]}
    )
    failed, denied = policy.validate(given()).decisions
    assert (failed.verdict, failed.denies) == (Verdict.ERROR, False)
    assert (denied.verdict, denied.denies, denied.reason) == (Verdict.DENY, True, "Invalid")


def test_audit_annotations_are_published_unless_they_are_empty() -> None:
    spec = {
        "auditAnnotations": [
            {"key": "a", "valueExpression": "' ' + object.data.a"},
            {"key": "b", "valueExpression": "null"},
            {"key": "c", "valueExpression": "'  '"},
            {"key": "d", "valueExpression": "string(object.nope)"},
        ]
    }
    found = ValidatingPolicy(spec).validate(given()).audit_annotations
    assert [(each.key, each.value) for each in found] == [("a", "x"), ("d", "")]
    assert found[1].error == "expression 'string(object.nope)' resulted in error: no such key: nope"


def test_a_policy_whose_conditions_do_not_match_says_nothing() -> None:
    spec = {
        "matchConditions": [{"name": "other", "expression": "object.kind == 'Secret'"}],
        "validations": [{"expression": "false"}],
    }
    assert ValidatingPolicy(spec).validate(given()).decisions == []


CONDITIONS = [
    (["true"], True, "", ""),
    ([], True, "", ""),
    (["true", "false"], False, "c1", ""),
    (["object.nope == 1", "false"], False, "c1", ""),
    (
        ["object.nope == 1", "true"],
        False,
        "",
        "expression 'object.nope == 1' resulted in error: no such key: nope",
    ),
    (
        ["object.a == 1", "object.b == 1"],
        False,
        "",
        "[expression 'object.a == 1' resulted in error: no such key: a, expression 'object.b == 1' resulted in error:"
        " no such key: b]",
    ),
]


@pytest.mark.parametrize(("expressions", "matches", "failed", "error"), CONDITIONS)
def test_one_false_condition_decides_and_errors_count_only_without(
    expressions: list[str], matches: bool, failed: str, error: str
) -> None:
    conditions = [{"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)]
    match = MatchConditions(conditions, "Fail").match(given())
    assert (match.matches, match.failed_condition, match.error) == (matches, failed, error)
    assert MatchConditions(conditions, "Ignore").match(given()).error == ""


def test_match_conditions_have_a_budget() -> None:
    conditions = [{"name": f"c{index}", "expression": "lists.range(300000).size() > 0"} for index in range(20)]
    match = MatchConditions(conditions, None).match(given())
    assert match.error == "validation failed due to running out of cost budget, no further validation rules will be run"
