import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.patch import json_patch
from nagaya.apiserver.patch.json_patch import JsonPatchError
from support.subtest_cases import subtest_cases

DOCUMENT = {"a": {"b": [1, 2, 3]}, "s": "x", "n": None, "t/u": {"v~w": 1}}


def patched(*operations: dict[str, Any]) -> Any:
    kept = copy.deepcopy((DOCUMENT, operations))
    result = json_patch.apply(DOCUMENT, operations)
    assert (DOCUMENT, operations) == kept
    return result


def problem(*operations: Any, document: Any = DOCUMENT) -> str:
    with pytest.raises(JsonPatchError) as raised:
        json_patch.apply(document, operations)
    return str(raised.value)


def test_no_operations_change_nothing() -> None:
    assert json_patch.apply(DOCUMENT, []) is DOCUMENT


def test_only_what_is_touched_is_copied() -> None:
    result = patched({"op": "add", "path": "/s", "value": "y"})
    assert result["s"] == "y"
    assert result["a"] is DOCUMENT["a"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/b/0", [9, 1, 2, 3]), ("/a/b/3", [1, 2, 3, 9]), ("/a/b/-", [1, 2, 3, 9]), ("/a/b/-1", [1, 2, 3, 9])],
)
def test_items_are_added_before_the_index(path: str, expected: list[int]) -> None:
    assert patched({"op": "add", "path": path, "value": 9})["a"]["b"] == expected


def test_negative_indices_count_from_the_end() -> None:
    assert patched({"op": "remove", "path": "/a/b/-1"})["a"]["b"] == [1, 2]
    assert patched({"op": "replace", "path": "/a/b/-3", "value": 7})["a"]["b"] == [7, 2, 3]


def test_escaped_keys_are_understood() -> None:
    assert patched({"op": "replace", "path": "/t~1u/v~0w", "value": 2})["t/u"] == {"v~w": 2}


def test_replacing_a_missing_member_adds_it() -> None:
    assert patched({"op": "replace", "path": "/a/new", "value": 1})["a"]["new"] == 1


def test_an_operation_without_a_value_sets_null() -> None:
    assert patched({"op": "add", "path": "/s"})["s"] is None


def test_the_whole_document_can_be_replaced_but_not_removed() -> None:
    assert patched({"op": "replace", "path": "", "value": [1]}) == [1]
    assert problem({"op": "add", "path": "", "value": {}}) == (
        'add operation does not apply: doc is missing path: "": missing value'
    )
    assert problem({"op": "replace", "path": "", "value": 1}).startswith("replace operation value must be object")


def test_a_move_takes_the_value_along() -> None:
    result = patched({"op": "move", "from": "/a/b", "path": "/moved"})
    assert result["moved"] == [1, 2, 3]
    assert result["a"] == {}


def test_a_copy_is_independent_of_its_source() -> None:
    result = patched(
        {"op": "add", "path": "/a/c", "value": {}},
        {"op": "copy", "from": "/a", "path": "/copied"},
        {"op": "add", "path": "/a/c/d", "value": 1},
        {"op": "add", "path": "/copied/b/0", "value": 0},
    )
    assert result["a"] == {"b": [1, 2, 3], "c": {"d": 1}}
    assert result["copied"] == {"b": [0, 1, 2, 3], "c": {}}


def test_a_value_can_be_copied_into_itself() -> None:
    result = patched({"op": "add", "path": "/a/c", "value": 1}, {"op": "copy", "from": "/a", "path": "/a/d"})
    assert result["a"] == {"b": [1, 2, 3], "c": 1, "d": {"b": [1, 2, 3], "c": 1}}


def test_a_value_from_the_patch_is_not_written_to() -> None:
    assert patched({"op": "add", "path": "/x", "value": {"y": {}}}, {"op": "add", "path": "/x/y/z", "value": 1})[
        "x"
    ] == {"y": {"z": 1}}


def test_copies_have_a_size_limit() -> None:
    operations = [{"op": "copy", "from": "/a", "path": "/b"}] * 2
    with pytest.raises(JsonPatchError, match="accumulated size increase of copy is 24, exceeding the limit 20"):
        json_patch.apply({"a": "x" * 10}, operations, copy_limit=20)


@pytest.mark.parametrize(
    ("path", "value"),
    [("/a", {"b": [1, 2, 3]}), ("/s", "x"), ("/n", None), ("/missing", None), ("/a/b/-1", 3), ("", DOCUMENT)],
)
def test_a_test_of_what_is_there_passes(path: str, value: Any) -> None:
    assert patched({"op": "test", "path": path, "value": value}) == DOCUMENT


@pytest.mark.parametrize(
    ("path", "value"), [("/a/b/0", 1.0), ("/a/b/0", True), ("/s", "y"), ("/missing", 0), ("/a/b", [1, 2])]
)
def test_a_test_of_what_is_not_there_fails(path: str, value: Any) -> None:
    assert problem({"op": "test", "path": path, "value": value}) == f"testing value {path} failed: test failed"


def test_a_whole_number_in_the_document_equals_one_in_the_patch() -> None:
    assert json_patch.equal({"a": [2.0]}, {"a": [2]})


@subtest_cases(
    ("operation", "expected"),
    [
        ({"op": "zap", "path": "/a"}, "Unexpected kind: zap"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
        (None, "Unexpected kind: unknown"),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        (
            {"op": "replace", "path": 5},
            "replace operation failed to decode path: json: cannot unmarshal number into Go value of type string",
        ),
        (
            {"op": "move", "path": "/a"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "remove", "path": "/x"},
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "remove", "path": "/a/b/9"},
            "error in remove for path: '/a/b/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "remove", "path": "/s/x"},
            'remove operation does not apply: doc is missing path: "/s/x": missing value',
        ),
        (
            {"op": "replace", "path": "/a/b/x"},
            "replace operation does not apply: doc is missing key: /a/b/x: missing value",
        ),
        (
            {"op": "add", "path": "/a/b/x"},
            "error in add for path: '/a/b/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        ({"op": "add", "path": "/n/x"}, 'add operation does not apply: doc is missing path: "/n/x": missing value'),
    ],
)
def test_what_cannot_be_done_is_said(operation: Any, expected: str) -> None:
    assert problem(operation) == expected


@pytest.mark.parametrize(
    ("patch", "strict", "lenient"),
    [
        (None, "", ""),
        ([], "", ""),
        ([None], "", ""),
        (
            {},
            "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            [1],
            "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
        ),
        (
            [{"op": True}],
            "json: cannot unmarshal bool into Go struct field jsonPatchOp.op of type string",
            "",
        ),
    ],
)
def test_what_is_no_patch_is_refused(patch: Any, strict: str, lenient: str) -> None:
    assert json_patch.malformed(patch, lenient=False) == strict
    assert json_patch.malformed(patch, lenient=True) == lenient


def test_members_that_no_operation_has_are_reported() -> None:
    patch = [{"op": "test", "path": "/a"}, {"op": "test", "path": "/a", "foo": 1}]
    assert json_patch.unknown_members(patch) == ['unknown field "[1].foo"']


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)
POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1"]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": POINTERS},
    optional={"from": POINTERS, "value": JSON},
)


@given(st.dictionaries(st.sampled_from("ab"), JSON), st.lists(OPERATIONS, max_size=5))
def test_neither_the_document_nor_the_patch_ever_changes(document: Any, operations: Any) -> None:
    kept = copy.deepcopy((document, operations))
    with contextlib.suppress(JsonPatchError):
        first = json_patch.apply(document, operations)
        assert json_patch.apply(document, operations) == first
    assert (document, operations) == kept


def test_operations_cannot_copy_long_lists_again_and_again() -> None:
    document = {"items": ["a"] * 200_000, "x": "y"}
    copies = [{"op": "copy", "from": "/x", "path": "/items/-"}]

    with pytest.raises(JsonPatchError, match="change long lists and maps too often"):
        json_patch.apply(document, copies * 1000)

    assert len(json_patch.apply(document, copies * 10)["items"]) == 200_010
