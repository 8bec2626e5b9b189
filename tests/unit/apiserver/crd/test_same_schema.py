from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd.same_schema import canonical


def same(left: Any, right: Any) -> bool:
    return bool(canonical(left) == canonical(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"type": "object"}, {"type": "object", "required": [], "nullable": False, "title": "", "items": None}),
        ({"properties": {"a": {}}}, {"properties": {"a": {"description": ""}}}),
        ({"maximum": 5}, {"maximum": 5.0}),
        ({"properties": None}, {"properties": {}}),
        ({"enum": []}, {"default": None}),
    ],
)
def test_what_says_nothing_makes_no_difference(left: Any, right: Any) -> None:
    assert same(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"properties": {"a": {}}}, {}),
        ({"additionalProperties": False}, {}),
        ({"default": {}}, {}),
        ({"enum": [None]}, {"enum": [""]}),
        ({"maxLength": 0}, {}),
        ({"subresources": {"status": {}}}, {"subresources": {}}),
    ],
)
def test_what_says_something_does(left: Any, right: Any) -> None:
    assert not same(left, right)
