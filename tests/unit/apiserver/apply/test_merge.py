"""How a configuration is laid over an object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.apply.atoms import atom_of
from nagaya.apiserver.apply.merge import merge
from nagaya.apiserver.schema.types import Field, List, ListKind, Map, Scalar, Struct, Untyped
from support.subtest_cases import subtest_cases

TEXT = Scalar("string")
ROOT = Struct(
    {
        "map": Field(Map(TEXT)),
        "whole": Field(Map(TEXT, atomic=True)),
        "items": Field(List(Struct({"name": Field(TEXT), "v": Field(TEXT)}), ListKind.MAP, ("name",))),
        "tags": Field(List(TEXT, ListKind.SET)),
        "steps": Field(List(TEXT)),
        "any": Field(Untyped()),
    }
)


@subtest_cases(
    ("live", "config", "merged"),
    [
        ({"map": {"a": "1"}}, {"map": {"b": "2"}}, {"map": {"a": "1", "b": "2"}}),
        ({"map": {"a": "1"}}, {"map": {"a": "2"}}, {"map": {"a": "2"}}),
        ({"map": {"a": "1"}}, {"map": {}}, {"map": {"a": "1"}}),
        ({"map": {"a": "1"}}, {"map": None}, {"map": {"a": "1"}}),
        ({"map": {"a": "1"}}, {"map": {"a": None}}, {"map": {"a": None}}),
        ({"map": {}}, {"map": None}, {"map": None}),
        ({"map": None}, {"map": {}}, {"map": {}}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        ({"whole": {"a": "1"}}, {"whole": None}, {"whole": None}),
        ({"steps": ["a"]}, {"steps": ["b"]}, {"steps": ["b"]}),
        ({"tags": ["a"]}, {"tags": []}, {"tags": ["a"]}),
        ({"tags": ["a"]}, {"tags": None}, {"tags": ["a"]}),
        ({"any": {"a": 1, "l": [1]}}, {"any": {"b": 2, "l": [2]}}, {"any": {"a": 1, "l": [2], "b": 2}}),
        ({"any": 5}, {"any": {"a": 1}}, {"any": {"a": 1}}),
        ({"any": {"a": 1}}, {"any": 5}, {"any": 5}),
        ({"any": {"a": 1}}, {"any": None}, {"any": {"a": 1}}),
        ({"any": [1]}, {"any": None}, {"any": None}),
        (
            {"items": [{"name": "a", "v": "1"}, {"name": "b"}]},
            {"items": [{"name": "b", "v": "2"}]},
            {"items": [{"name": "a", "v": "1"}, {"name": "b", "v": "2"}]},
        ),
        (
            {"items": [{"name": "a", "v": "1"}, {"name": "a", "v": "2"}]},
            {"items": [{"name": "a"}]},
            {"items": [{"name": "a"}]},
        ),
    ],
)
def test_the_configuration_wins_where_it_says_something(live: Any, config: Any, merged: Any) -> None:
    assert merge(atom_of(ROOT), live, config) == merged


@subtest_cases(
    ("live", "config", "merged"),
    [
        ("abcd", "db", "acdb"),
        ("abcd", "bd", "abcd"),
        ("abcd", "xb", "axbcd"),
        ("abcd", "bx", "abcdx"),
        ("abc", "cba", "cba"),
        ("abcd", "dcxa", "bdcxa"),
        ("ab", "xy", "abxy"),
        ("aba", "b", "aba"),
        ("aba", "ba", "ba"),
    ],
)
def test_items_of_the_configuration_come_in_its_order(live: str, config: str, merged: str) -> None:
    result = merge(atom_of(ROOT), {"tags": list(live)}, {"tags": list(config)})
    assert "".join(result["tags"]) == merged


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("abcdef"), unique=True))
def test_merged_lists_hold_everything_once_in_the_configured_order(live: list[str], config: list[str]) -> None:
    merged = merge(atom_of(ROOT), {"tags": live}, {"tags": config})["tags"]
    assert sorted(merged) == sorted({*live, *config})
    assert [item for item in merged if item in config] == config
    assert [item for item in merged if item not in config] == [item for item in live if item not in config]
