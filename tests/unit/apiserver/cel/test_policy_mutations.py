from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.cel.policy_expressions import Input
from nagaya.apiserver.cel.policy_mutations import (
    ApplyConfiguration,
    MutatingPolicy,
    MutationError,
    Patch,
)

GIVEN = Input({"operation": "CREATE"}, {"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"replicas": 1}})


def compute(expression: str, *, patch: bool = False, **spec: Any) -> Patch | ApplyConfiguration:
    kind, member = ("JSONPatch", "jsonPatch") if patch else ("ApplyConfiguration", "applyConfiguration")
    (mutation,) = MutatingPolicy(
        {"mutations": [{"patchType": kind, member: {"expression": expression}}], **spec}
    ).mutations
    return mutation.compute(GIVEN)


def test_a_written_object_is_what_to_merge() -> None:
    found = compute(
        "Object{metadata: Object.metadata{labels: {'x': object.metadata.name}},"
        " spec: Object.spec{replicas: object.spec.replicas + 1, ?gone: optional.none(),"
        " list: [Object.spec.list{name: 'q', since: timestamp(0), wait: duration('1m'), raw: b'a', big: 1u}]}}"
    )
    assert found == ApplyConfiguration(
        {
            "metadata": {"labels": {"x": "n"}},
            "spec": {
                "replicas": 2,
                "list": [{"name": "q", "since": "1970-01-01T00:00:00Z", "wait": "60s", "raw": "YQ==", "big": 1}],
            },
        }
    )


def test_a_patch_is_a_list_of_operations() -> None:
    found = compute(
        "[JSONPatch{op: 'test', path: '/spec/replicas', value: 1},"
        " JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('k8s.io/a~b'), value: 'c'},"
        " JSONPatch{op: 'move', from: '/a', path: '/b'},"
        " JSONPatch{op: 'add', path: '/spec', value: Object.spec{n: null, big: 9007199254740993}}]",
        patch=True,
    )
    assert found == Patch(
        [
            {"op": "test", "path": "/spec/replicas", "value": 1},
            {"op": "add", "path": "/metadata/labels/k8s.io~1a~0b", "value": "c"},
            {"op": "move", "path": "/b", "from": "/a"},
            {"op": "add", "path": "/spec", "value": {"n": None, "big": "9007199254740993"}},
        ]
    )


@pytest.mark.parametrize(
    ("expression", "patch", "problem"),
    [
        (
            "Object{spec: Object.wrong{}}",
            False,
            'type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which matches field name path'
            " from root Object type",
        ),
        ("Object{a: object.nope}", False, "expression 'Object{a: object.nope}' resulted in error: no such key: nope"),
        ("{'a': 1}", False, "must evaluate to Object but got map(string, int)"),
        ("true", True, "must evaluate to list(JSONPatch) but got bool"),
        (
            "[JSONPatch{op: 'add', path: '/a', value: quantity('1')}]",
            True,
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON: type conversion error from"
            " 'kubernetes.Quantity' to JSON",
        ),
    ],
)
def test_a_mutation_that_cannot_be_computed_says_why(expression: str, patch: bool, problem: str) -> None:
    with pytest.raises(MutationError) as failed:
        compute(expression, patch=patch)
    assert str(failed.value) == problem


def test_variables_can_be_used() -> None:
    found = compute(
        "Object{spec: Object.spec{n: variables.n}}", variables=[{"name": "n", "expression": "object.spec.replicas * 3"}]
    )
    assert found == ApplyConfiguration({"spec": {"n": 3}})


def test_written_objects_can_be_looked_into() -> None:
    found = compute(
        "Object{a: has(Object{b: 1}.b), c: Object{d: 2}.d, e: Object{f: 1} == Object{f: 1},"
        " g: Object{f: 1} == Object{f: 2}, h: JSONPatch{op: 'x'}.op, i: has(JSONPatch{op: 'x'}.path)}"
    )
    assert found == ApplyConfiguration({"a": True, "c": 2, "e": True, "g": False, "h": "x", "i": False})


def test_conditions_decide_whether_a_policy_is_meant() -> None:
    policy = MutatingPolicy({"matchConditions": [{"name": "c", "expression": "request.operation == 'UPDATE'"}]})
    assert not policy.match(GIVEN).matches
    assert MutatingPolicy({}).match(GIVEN).matches
