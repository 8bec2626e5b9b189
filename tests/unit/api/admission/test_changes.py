from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission.changes import allowed, changed_paths
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("new", "old", "expected"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1}, []),
        ({"a": 2}, {"a": 1}, [("a",)]),
        ({"a": {"b": 1, "c": 2}}, {}, [("a", "b"), ("a", "c")]),
        ({}, {"a": {"b": 1}}, [("a",)]),
        ({"a": {}}, {}, []),
        ({"a": None}, {}, []),
        ({"a": [1]}, {"a": [2]}, [("a",)]),
        ({"a": {"b": 1}}, {"a": 3}, [("a",)]),
        ({"a": 3}, {"a": {"b": 1}}, [("a",)]),
    ],
)
def test_changes_are_named_as_a_merge_patch_names_them(new: Any, old: Any, expected: list[tuple[str, ...]]) -> None:
    assert list(changed_paths(new, old)) == expected


@pytest.mark.parametrize(
    ("path", "fine"),
    [(("a",), True), (("a", "b"), False), (("m", "x"), True), (("m", "x", "y"), True), (("m",), False)],
)
def test_a_star_stands_for_all_below(path: tuple[str, ...], fine: bool) -> None:
    assert allowed(path, (("a",), ("m", "*"))) is fine
