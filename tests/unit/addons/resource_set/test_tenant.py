from __future__ import annotations

from typing import Any

import pytest

from nagaya.addons.resource_set.tenant import change_of

PRESENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "a",
        "uid": "1",
        "resourceVersion": "7",
        "labels": {"mine": "1"},
        "finalizers": ["example.com/hold"],
        "ownerReferences": [{"name": "x"}],
    },
    "data": {"a": "1", "b": "2"},
    "status": {"ready": True},
}


@pytest.mark.parametrize(
    ("wanted", "change"),
    [
        ({"metadata": {"name": "a"}, "data": {"a": "1", "b": "2"}}, None),
        ({"metadata": {"name": "a"}, "data": {"a": "1"}}, {"data": {"b": None}}),
        ({"metadata": {"name": "a"}}, {"data": None}),
        (
            {"metadata": {"name": "a", "labels": {"mine": "1", "theirs": "2"}}, "data": {"a": "1", "b": "2"}},
            {"metadata": {"labels": {"theirs": "2"}}},
        ),
        (
            {"metadata": {"name": "a", "annotations": {"n": "1"}}, "data": {"a": "3", "b": "2"}},
            {"metadata": {"annotations": {"n": "1"}}, "data": {"a": "3"}},
        ),
    ],
)
def test_an_object_becomes_what_its_manifest_says_but_keeps_what_others_noted(
    wanted: dict[str, Any], change: dict[str, Any] | None
) -> None:
    assert change_of(PRESENT, wanted) == change
