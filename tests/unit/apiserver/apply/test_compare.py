"""What changed between two objects."""

from typing import Any

import pytest

from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.compare import compare
from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct, Untyped
from support.subtest_cases import subtest_cases

TEXT = Scalar("string")
ITEM = Struct({"name": Field(TEXT), "v": Field(TEXT)})
ROOT = Struct(
    {
        "text": Field(TEXT),
        "map": Field(Map(TEXT)),
        "whole": Field(Map(TEXT, atomic=True)),
        "items": Field(List(ITEM, ListKind.MAP, ("name",))),
        "tags": Field(List(TEXT, ListKind.SET)),
        "steps": Field(List(TEXT)),
        "any": Field(Untyped()),
    }
)


def changes(old: dict[str, Any], new: dict[str, Any]) -> tuple[Any, Any, Any]:
    return tuple(compare(atom_of(ROOT), old, new))  # type: ignore[return-value]  # it is a tuple of three


@subtest_cases(
    ("old", "new", "added", "modified", "removed"),
    [
        ({"text": "x"}, {"text": "x"}, {}, {}, {}),
        ({"text": "x"}, {"text": "y"}, {}, {"f:text": {}}, {}),
        ({"text": "x"}, {"text": None}, {}, {"f:text": {}}, {}),
        ({}, {"map": {"k": "v"}}, {"f:map": {".": {}, "f:k": {}}}, {}, {}),
        ({"map": {"k": "v"}}, {}, {}, {}, {"f:map": {".": {}, "f:k": {}}}),
        ({"map": {"k": "v"}}, {"map": {"l": "v"}}, {"f:map": {"f:l": {}}}, {}, {"f:map": {"f:k": {}}}),
        ({"map": None}, {"map": {"k": "v"}}, {"f:map": {"f:k": {}}}, {}, {}),
        ({"map": {}}, {"map": None}, {}, {"f:map": {}}, {}),
        ({"whole": {"k": "v"}}, {"whole": {"l": "v"}}, {}, {"f:whole": {}}, {}),
        ({"steps": ["a"]}, {"steps": ["a", "b"]}, {}, {"f:steps": {}}, {}),
        ({"tags": ["a", "b"]}, {"tags": ["c", "b"]}, {"f:tags": {'v:"c"': {}}}, {}, {"f:tags": {'v:"a"': {}}}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {}, {}, {}),
        (
            {"items": [{"name": "a", "v": "1"}]},
            {"items": [{"name": "b"}, {"name": "a", "v": "2"}]},
            {"f:items": {'k:{"name":"b"}': {".": {}, "f:name": {}}}},
            {"f:items": {'k:{"name":"a"}': {"f:v": {}}}},
            {},
        ),
        ({"any": {"a": 1}}, {"any": "text"}, {}, {"f:any": {}}, {"f:any": {"f:a": {}}}),
        ({"any": True}, {"any": {"a": {"b": 1}}}, {"f:any": {"f:a": {".": {}, "f:b": {}}}}, {"f:any": {}}, {}),
        ({"any": {"a": 1}}, {"any": {"a": True}}, {}, {"f:any": {"f:a": {}}}, {}),
        ({"any": [1, {"x": 0}]}, {"any": [1.0, {"x": False}]}, {}, {"f:any": {}}, {}),
        ({"any": {"a": 1}}, {"any": {"a": 1.0}}, {}, {}, {}),
    ],
)
def test_changes_are_told_by_kind(old: Any, new: Any, added: Any, modified: Any, removed: Any) -> None:
    assert changes(old, new) == (added, modified, removed)


@pytest.mark.parametrize(
    ("old", "new", "added", "modified", "removed"),
    [
        (["x", "x"], ["x", "x"], {}, {}, {}),
        (["x", "x"], ["x", "x", "x"], {}, {"f:tags": {'v:"x"': {}}}, {}),
        (["x", "x"], ["x"], {"f:tags": {'v:"x"': {}}}, {}, {"f:tags": {'v:"x"': {}}}),
        (["x"], ["x", "x"], {"f:tags": {'v:"x"': {}}}, {}, {"f:tags": {'v:"x"': {}}}),
        (["x", "x"], ["y"], {"f:tags": {'v:"y"': {}}}, {}, {"f:tags": {'v:"x"': {}}}),
    ],
)
def test_repeated_items_count_as_one(old: Any, new: Any, added: Any, modified: Any, removed: Any) -> None:
    assert changes({"tags": old}, {"tags": new}) == (added, modified, removed)


@subtest_cases(
    "old",
    [
        {"unknown": 1},
        {"text": 5},
        {"map": "text"},
        {"map": {"k": 1, "l": "x"}},
        {"items": [{"v": "x"}]},
        {"items": [{"name": "a", "more": 1}]},
        {"whole": {"k": 5}},
        {"steps": [5]},
    ],
)
def test_an_older_object_that_does_not_fit_is_noticed_where_it_differs(old: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        changes(old, {"text": "x", "map": {"k": "v"}, "items": [], "whole": {}, "steps": ["x"]})
