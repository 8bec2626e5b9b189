from typing import Any

import pytest

from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.patch.door import PatchType, apply_patch, undecodable
from nagaya.apiserver.schema.types import Field, List, Scalar, Struct

ITEM = Struct({"name": Field(Scalar("string"))}, name="v1.Item")
KIND = Struct(
    {
        "kind": Field(Scalar("string")),
        "items": Field(List(ITEM), patch_strategy=frozenset({"merge"}), merge_key="name"),
    },
    name="v1.Kind",
)
CURRENT = {"kind": "Kind", "items": [{"name": "a"}]}


def refused(form: PatchType, patch: Any, *, lenient: bool = False) -> ApiError:
    with pytest.raises(ApiError) as raised:
        apply_patch(form, CURRENT, patch, KIND, lenient=lenient)
    return raised.value


def test_each_form_has_its_own_idea_of_a_list() -> None:
    new = [{"name": "b"}]
    assert apply_patch(PatchType.MERGE, CURRENT, {"items": new}, KIND).value["items"] == new
    assert apply_patch(PatchType.STRATEGIC, CURRENT, {"items": new}, KIND).value["items"] == [*new, {"name": "a"}]
    added = [{"op": "add", "path": "/items/-", "value": new[0]}]
    assert apply_patch(PatchType.JSON, CURRENT, added, KIND).value["items"] == [{"name": "a"}, *new]


def test_null_is_an_empty_patch_except_for_merging() -> None:
    assert apply_patch(PatchType.JSON, CURRENT, None, KIND).value == CURRENT
    assert apply_patch(PatchType.STRATEGIC, CURRENT, None, KIND).value == CURRENT
    assert refused(PatchType.MERGE, None).message == "Invalid JSON Patch"


def test_an_operation_that_fails_is_not_explained_to_the_client() -> None:
    error = refused(PatchType.JSON, [{"op": "remove", "path": "/x"}])
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.status["details"] == {}
    assert error.message == "the server rejected our request due to an error in our request"
    assert error.__notes__ == ["error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"]


def test_too_many_operations_are_too_large() -> None:
    error = refused(PatchType.JSON, [{"op": "test", "path": "/kind", "value": "Kind"}] * 10001)
    assert error.code == 413
    assert error.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


@pytest.mark.parametrize(
    ("form", "patch", "message"),
    [
        (
            PatchType.JSON,
            {},
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            PatchType.MERGE,
            [],
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (PatchType.STRATEGIC, "x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(form: PatchType, patch: Any, message: str) -> None:
    error = refused(form, patch)
    assert (error.code, error.message) == (400, message)


def test_without_validation_the_patch_is_not_looked_at_first() -> None:
    assert refused(PatchType.JSON, {}, lenient=True).message == (
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    )
    assert refused(PatchType.JSON, [{"op": 1}], lenient=True).code == 422
    assert refused(PatchType.MERGE, "x", lenient=True).message == "Invalid JSON Patch"


def test_an_object_stays_an_object() -> None:
    for error in (
        refused(PatchType.JSON, [{"op": "replace", "path": "", "value": []}]),
        refused(PatchType.MERGE, [], lenient=True),
    ):
        assert error.code == 422
        assert error.message == (
            ' "" is invalid: patch: Invalid value: "[]": couldn\'t get version/kind; json parse error: json: cannot '
            'unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
            'Kind string "json:\\"kind,omitempty\\"" }'
        )


def test_strict_findings_come_with_the_result() -> None:
    patch = [{"op": "test", "path": "/kind", "value": "Kind", "foo": 1}]
    assert apply_patch(PatchType.JSON, CURRENT, patch, KIND).strict_errors == ['unknown field "[0].foo"']
    assert apply_patch(PatchType.JSON, CURRENT, patch, KIND, lenient=True).strict_errors == []


def test_most_strategic_mistakes_are_internal_errors_without_a_reason() -> None:
    error = refused(PatchType.STRATEGIC, {"items": [{}]})
    assert (error.code, error.reason) == (500, "")
    assert error.message == "map: map[] does not contain declared merge key: name"
    assert refused(PatchType.STRATEGIC, {"$retainKeys": 1}).code == 400


def test_a_kind_without_patch_rules_has_no_strategic_patches() -> None:
    with pytest.raises(ApiError, match="strategic merge patch format is not supported"):
        apply_patch(PatchType.STRATEGIC, CURRENT, {}, None)


def test_a_bottomless_patch_is_a_bad_request() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert refused(PatchType.MERGE, deep).code == 400


def test_a_result_that_is_no_valid_object_is_shown() -> None:
    strict = 'strict decoding error: unknown field "spec.foo"'
    error = undecodable(PatchType.STRATEGIC, {"spec": {"foo": 1}}, {}, strict)
    assert error.message == f' "" is invalid: patch: Invalid value: "map[spec:map[foo:1]]": {strict}'
    error = undecodable(PatchType.MERGE, {}, {"kind": "K", "data": 5}, "why")
    assert error.message == ' "" is invalid: patch: Invalid value: "{\\"data\\":5,\\"kind\\":\\"K\\"}": why'
