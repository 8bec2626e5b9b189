from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.kube.patches import contains, difference, same

VALUES = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def apply(target: Any, patch: Any) -> Any:
    """RFC 7386, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply(result.get(name), value)
    return result


@given(OBJECTS, OBJECTS)
def test_the_difference_leads_from_one_to_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    patch = difference(before, after)
    assert same(apply(before, patch) if patch is not None else before, after)


@given(OBJECTS)
def test_equal_objects_need_no_patch(content: dict[str, Any]) -> None:
    assert difference(content, dict(content)) is None


def test_only_what_differs_is_sent() -> None:
    before = {"spec": {"replicas": 1, "paused": True, "list": [1]}, "status": {"ready": 1}}
    after = {"spec": {"replicas": 2, "list": [1]}, "status": {"ready": 1}}
    assert difference(before, after) == {"spec": {"replicas": 2, "paused": None}}


def test_true_is_not_one() -> None:
    assert difference({"a": 1}, {"a": True}) == {"a": True}
    assert difference({"a": [1]}, {"a": [True]}) == {"a": [True]}


def test_tuples_and_lists_are_the_same() -> None:
    assert difference({"a": ["x"]}, {"a": ("x",)}) is None


def test_a_null_means_absent() -> None:
    assert difference({"a": None}, {}) is None
    assert difference({}, {"a": {"b": None, "c": 1}}) == {"a": {"c": 1}}


@given(VALUES)
def test_everything_contains_itself(value: Any) -> None:
    assert contains(value, value)


@pytest.mark.parametrize(
    ("present", "wanted", "answer"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1, 2, 3], [3, 1], True),
        ([{"k": "a", "v": 1}], [{"k": "a"}], True),
        ([], [1], False),
        (True, 1, False),
        (None, {}, False),
    ],
)
def test_a_part_is_contained_in_the_whole(present: Any, wanted: Any, answer: bool) -> None:
    assert contains(present, wanted) is answer
