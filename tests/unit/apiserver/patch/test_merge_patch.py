import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.patch import merge_patch
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("document", "patch", "expected"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
        ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": {"b": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_maps_are_merged_and_null_removes(document: Any, patch: Any, expected: Any) -> None:
    kept = copy.deepcopy((document, patch))
    assert merge_patch.apply(document, patch) == expected
    assert (document, patch) == kept


def test_what_is_not_touched_is_shared() -> None:
    document = {"a": {"deep": []}, "b": 1}
    assert merge_patch.apply(document, {"b": 2})["a"] is document["a"]


def test_a_value_without_nulls_is_not_copied() -> None:
    value = {"a": [{"b": 1}, None]}
    assert merge_patch.without_nulls(value) is value


JSON = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON)


@given(OBJECTS, OBJECTS)
def test_applying_a_patch_twice_is_the_same_as_once(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = merge_patch.apply(document, patch)
    if not _replaces_map_by_list(document, patch):
        assert merge_patch.apply(once, patch) == once


def _replaces_map_by_list(document: Any, patch: Any) -> bool:
    """The one case that is not idempotent: nulls in such a list stay at first and go the second time."""
    if not isinstance(document, dict) or not isinstance(patch, dict):
        return isinstance(document, dict) and isinstance(patch, list)
    return any(_replaces_map_by_list(document.get(key), value) for key, value in patch.items())


@given(OBJECTS, OBJECTS)
def test_the_inputs_never_change(document: dict[str, Any], patch: dict[str, Any]) -> None:
    kept = copy.deepcopy((document, patch))
    merge_patch.apply(document, patch)
    assert (document, patch) == kept
