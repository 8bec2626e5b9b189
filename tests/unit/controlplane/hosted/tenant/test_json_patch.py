from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.patch import json_patch as the_servers
from nagaya.controlplane.hosted.tenant.json_patch import PatchFailed, apply

NAMES = st.sampled_from(["a", "b", "0", "1", "-", "x/y", "~"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(
    lambda names: "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)
)
OPERATIONS = st.one_of(
    st.fixed_dictionaries({"op": st.sampled_from(["add", "replace", "test"]), "path": PATHS, "value": VALUES}),
    st.fixed_dictionaries({"op": st.just("remove"), "path": PATHS}),
    st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "path": PATHS, "from": PATHS}),
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.lists(OPERATIONS, max_size=4))
def test_what_can_be_done_is_done_as_a_server_does_it(document: dict[str, Any], operations: list[Any]) -> None:
    before = repr(document)
    try:
        found = apply(document, operations)
    except PatchFailed:
        found = None
    assert repr(document) == before
    if found is not None:
        assert found == the_servers.apply(document, operations)


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        ({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": 1}, {"op": "replace", "path": "", "value": {}}, {}),
        ({"a": [1, 2]}, {"op": "replace", "path": "/a/0", "value": 9}, {"a": [9, 2]}),
        ({"a": {"b": 1}}, {"op": "move", "path": "/c", "from": "/a/b"}, {"a": {}, "c": 1}),
        ({"a": 1}, {"op": "copy", "path": "/b", "from": "/a"}, {"a": 1, "b": 1}),
        ({"a/b": 1, "c~d": 2}, {"op": "remove", "path": "/a~1b"}, {"c~d": 2}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}),
    ],
)
def test_each_operation_does_what_the_standard_says(document: Any, operation: Any, expected: Any) -> None:
    assert apply(document, [operation]) == expected


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        ({"op": "add", "path": "/x/y", "value": 1}, "there is no x"),
        ({"op": "add", "path": "/list/5", "value": 1}, "only 2 items"),
        ({"op": "add", "path": "/list/01", "value": 1}, "not a position"),
        ({"op": "add", "path": "/number/x", "value": 1}, "neither an object nor a list"),
        ({"op": "add", "path": "/x"}, "no value"),
        ({"op": "replace", "path": "/x", "value": 1}, "there is no x"),
        ({"op": "remove", "path": ""}, "whole document"),
        ({"op": "move", "path": "/map/a/b", "from": "/map"}, "into itself"),
        ({"op": "test", "path": "/number", "value": True}, "is another"),
        ({"op": "merge", "path": "/x"}, "op is none of"),
        ({"op": "add", "path": "x", "value": 1}, "not a JSON pointer"),
        ({"op": "copy", "path": "/x"}, "from is not a JSON pointer"),
    ],
)
def test_what_cannot_be_done_is_said(operation: Any, sentence: str) -> None:
    with pytest.raises(PatchFailed, match=sentence):
        apply({"number": 1, "list": [1, 2], "map": {"a": {}}}, [operation])


def test_copies_of_copies_do_not_take_all_memory() -> None:
    doubling = [{"op": "copy", "path": f"/{number}", "from": ""} for number in range(100)]
    with pytest.raises(PatchFailed, match=r"patch \d+ \(copy /\d+\) cannot be applied: the result is "):
        apply({"a": "b"}, doubling)
    within = [{"op": "copy", "path": f"/a/{number}", "from": "/a"} for number in range(100)]
    with pytest.raises(PatchFailed, match="the result is"):
        apply({"a": {"b": ["c"]}}, within)


def test_copies_of_a_long_text_are_bounded() -> None:
    copies = [{"op": "copy", "path": "/a/-", "from": "/a/0"} for _ in range(100)]
    with pytest.raises(PatchFailed, match="larger than 32 KiB"):
        apply({"a": ["x" * 10_000]}, copies)


def test_a_value_that_is_nested_deeply_is_refused() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    with pytest.raises(PatchFailed, match="more than 64 levels deep"):
        apply({}, [{"op": "add", "path": "/a", "value": value}])
