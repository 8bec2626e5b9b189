"""What is found out about the expressions of a policy before they are used."""

from __future__ import annotations

from typing import Any

from support.in_process import Api

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}
BOATS: dict[str, Any] = {
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "masts": {"type": "integer"},
                                    "port": {"x-kubernetes-int-or-string": True},
                                    "in": {"type": "array", "items": {"type": "string"}},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


async def checked(api: Api, *validations: dict[str, str] | str, rule: dict[str, Any] = DEPLOYMENTS, **spec: Any) -> Any:
    listed = [{"expression": each} if isinstance(each, str) else each for each in validations]
    body = {"matchConstraints": {"resourceRules": [rule]}, "validations": listed, **spec}
    await api.create(POLICIES, {"metadata": {"name": "p.example.com"}, "spec": body})
    return (await api.must(f"{POLICIES}/p.example.com"))["status"]


async def test_expressions_of_the_right_types_cause_no_warnings(api: Api) -> None:
    found = await checked(
        api,
        "object.spec.replicas > 1",
        "object.metadata.labels['a'] == 'b'",
        "object.spec.template.spec.containers.all(c, c.image.startsWith('good/'))",
        "oldObject == null || object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
        "has(object.spec.template.spec.securityContext) && request.operation == 'CREATE'",
    )
    assert found == {"observedGeneration": 1, "typeChecking": {}}
    assert await api.quiet()


async def test_a_confusion_of_types_is_told_for_each_expression_and_kind(api: Api) -> None:
    rule = {**DEPLOYMENTS, "resources": ["replicasets", "deployments"]}
    message = "'wants more, got ' + object.spec.replicas"
    found = await checked(api, {"expression": "object.spec.replicas > '1'", "messageExpression": message}, rule=rule)
    first, second = found["typeChecking"]["expressionWarnings"]
    assert first["fieldRef"] == "spec.validations[0].expression"
    assert first["warning"] == (
        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to "
        "'(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n\n"
        "apps/v1, Kind=ReplicaSet: ERROR: <input>:1:22: found no matching overload for '_>_' applied to "
        "'(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n"
    )
    assert second["fieldRef"] == "spec.validations[0].messageExpression"
    assert "found no matching overload for '_+_' applied to '(string, int)'" in second["warning"]


async def test_fields_that_do_not_exist_or_are_left_open_are_told(api: Api) -> None:
    found = await checked(
        api,
        "object.spec.nope == 1",
        "object.spec.template.spec.containers[0].resources.limits['cpu'] == '1'",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
    )
    words = [each["warning"] for each in found["typeChecking"]["expressionWarnings"]]
    assert ["undefined field 'nope'" in words[0], "undefined field 'limits'" in words[1]] == [True, True]
    assert "undefined field 'maxSurge'" in words[2]


async def test_variables_have_the_types_of_their_expressions(api: Api) -> None:
    variables = [
        {"name": "count", "expression": "object.spec.replicas"},
        {"name": "broken", "expression": "object.spec.nope"},
    ]
    found = await checked(api, "variables.count > 'x'", "variables.broken == 1", variables=variables)
    (warning,) = found["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"


async def test_custom_kinds_and_parameters_are_checked_too(api: Api) -> None:
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", BOATS)
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["boats"]}
    found = await checked(
        api,
        "object.spec.masts > 1 && object.spec.port == 80 && object.spec.__in__.size() > 0",
        "object.spec.masts > '1'",
        "params.data['a'] == 'b'",
        "params.data['a'] == 1",
        rule=rule,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    places = [each["fieldRef"] for each in found["typeChecking"]["expressionWarnings"]]
    assert places == ["spec.validations[1].expression", "spec.validations[3].expression"]


async def test_nothing_is_said_of_kinds_that_are_not_named_or_not_known(api: Api) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    assert (await checked(api, "object.spec.nope == 1", rule=rule))["typeChecking"] == {}


async def test_a_policy_is_looked_at_again_when_its_spec_changes(api: Api) -> None:
    await checked(api, "object.spec.replicas > 1")
    validations = [{"expression": "object.spec.replicas > '1'"}]
    await api.merge(f"{POLICIES}/p.example.com", {"spec": {"validations": validations}})
    found = (await api.must(f"{POLICIES}/p.example.com"))["status"]
    assert found["observedGeneration"] == 2
    assert len(found["typeChecking"]["expressionWarnings"]) == 1
