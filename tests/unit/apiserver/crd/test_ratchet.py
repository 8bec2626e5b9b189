from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd.ratchet import Correlation, MapList
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.schema.types import MISSING
from support.subtest_cases import subtest_cases

_ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "string"}}}
_SCHEMA = read(
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "plain": {"type": "array", "items": _ITEM},
            "keyed": {
                "type": "array",
                "items": _ITEM,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        },
    }
)


def correlate(new: Any, old: Any) -> Correlation:
    return Correlation(new, old, _SCHEMA)


def test_members_are_matched_by_name() -> None:
    both = correlate({"text": "a", "map": {"k": "1"}}, {"text": "b", "map": {"k": "1", "l": "2"}})
    text, entries = both.key("text"), both.key("map")
    assert text is not None
    assert entries is not None
    assert not text.unchanged
    entry = entries.key("k")
    assert entry is not None
    assert entry.unchanged
    assert not entries.unchanged
    assert both.key("plain") is None


def test_items_of_a_map_are_matched_by_their_keys() -> None:
    both = correlate({"keyed": [{"name": "b"}, {"name": "a", "v": "1"}]}, {"keyed": [{"name": "a", "v": "1"}]})
    items = both.key("keyed")
    assert items is not None
    assert items.index(0) is None
    second = items.index(1)
    assert second is not None
    assert second.unchanged


def test_items_of_other_lists_cannot_be_matched() -> None:
    both = correlate({"plain": [{"name": "a"}]}, {"plain": [{"name": "a"}]})
    items = both.key("plain")
    assert items is not None
    assert items.index(0) is None
    assert items.unchanged


@subtest_cases(
    ("new", "old", "unchanged"),
    [
        ({"text": "a"}, {"text": "a"}, True),
        ({"keyed": [{"name": "a"}, {"name": "b"}]}, {"keyed": [{"name": "b"}, {"name": "a"}]}, True),
        ({"plain": [{"name": "a"}, {"name": "b"}]}, {"plain": [{"name": "b"}, {"name": "a"}]}, False),
        ({"map": {"a": "1"}}, {"map": {"b": "1"}}, False),
        ({"map": {}}, {"map": []}, False),
        ({"unknown": 1}, {"unknown": 1}, False),
        ({}, {}, True),
        (None, None, True),
        ({"text": 1}, {"text": 1.0}, False),
    ],
)
def test_whether_a_value_was_changed(new: Any, old: Any, unchanged: bool) -> None:
    assert correlate(new, old).unchanged is unchanged


def test_an_item_without_its_key_is_not_found() -> None:
    items = MapList(_SCHEMA.properties["keyed"], [{"v": "x"}, {"name": "a"}, "text", {"name": "a", "v": "second"}])
    assert items.find({"name": "a"}) == {"name": "a"}
    assert items.find({"v": "x"}) is MISSING
    assert items.find("a") is MISSING
