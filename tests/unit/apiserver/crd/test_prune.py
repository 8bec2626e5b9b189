from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.crd import prune
from nagaya.apiserver.crd.schema import read

_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "note": {"type": "string", "nullable": True},
        "size": {"type": "integer", "default": 1},
        "nodes": {"type": "array", "items": {"type": "object", "properties": {"ip": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "anything": {"type": "object", "additionalProperties": True},
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
        },
        "openList": {
            "type": "array",
            "x-kubernetes-preserve-unknown-fields": True,
            "items": {"type": "object", "properties": {"a": {"type": "object"}}},
        },
    },
}


def cleaned(value: Any, schema: dict[str, Any] = _SCHEMA, *, root: bool = False) -> Any:
    return prune.compile_schema(read(schema), resource_root=root)(value)


def unknown(value: Any, schema: dict[str, Any] = _SCHEMA, *, root: bool = False) -> list[str]:
    return prune.unknown_fields(value, read(schema), resource_root=root)


def test_an_object_without_unknown_fields_is_given_back_itself() -> None:
    value = {"name": "a", "nodes": [{"ip": "x"}], "labels": {"a": "b"}, "open": {"any": {"thing": 1}}}
    assert cleaned(value) is value


def test_unknown_fields_are_dropped_everywhere_and_named_with_their_path() -> None:
    value = {"name": "a", "zone": 1, "nodes": [{"ip": "x"}, {"ip": "y", "port": 1}]}
    assert cleaned(value) == {"name": "a", "nodes": [{"ip": "x"}, {"ip": "y"}]}
    assert unknown(value) == ["nodes[1].port", "zone"]
    assert "zone" in value


def test_what_has_the_wrong_type_loses_its_contents_but_stays_to_be_refused() -> None:
    assert cleaned({"name": {"a": 1}, "nodes": {"a": 1}}) == {"name": {}, "nodes": {}}
    assert unknown({"name": {"a": 1}}) == ["name.a"]


def test_a_null_that_means_nothing_is_dropped() -> None:
    value = {"name": None, "note": None, "size": None, "labels": {"a": None}}
    assert cleaned(value) == {"note": None, "size": None, "labels": {}}
    assert unknown(value) == []


def test_preserved_fields_stay_while_known_ones_below_are_still_pruned() -> None:
    value = {"open": {"x": {"y": None}, "known": {"a": "1", "b": 2}}}
    assert cleaned(value) == {"open": {"x": {"y": None}, "known": {"a": "1"}}}
    assert unknown(value) == ["open.known.b"]


def test_items_of_a_preserving_list_keep_their_unknown_fields() -> None:
    value = {"openList": [{"a": {"b": 1}, "c": {"d": 1}}]}
    assert cleaned(value) == {"openList": [{"a": {}, "c": {"d": 1}}]}


def test_entries_of_any_kind_keep_scalars_and_lose_objects() -> None:
    assert cleaned({"anything": {"a": {"b": 1}, "c": [{"d": 1}, 2], "e": 3}}) == {
        "anything": {"a": {}, "c": [{}, 2], "e": 3}
    }


def test_type_and_metadata_belong_to_every_whole_object() -> None:
    value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "any": 1}, "name": "x"}
    assert cleaned(value, root=True) is value
    assert cleaned(value) == {"name": "x"}


def test_lists_nested_as_deep_as_a_body_can_be_do_no_harm() -> None:
    value: Any = {"a": 1}
    for _ in range(5000):
        value = [value]
    result = cleaned({"anything": {"x": value}})["anything"]["x"]
    for _ in range(5000):
        result = result[0]
    assert result == {}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*_SCHEMA["properties"], "z"]), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*_SCHEMA["properties"], "z", "ip", "a"]), _JSON))
def test_pruning_twice_changes_nothing_more(value: dict[str, Any]) -> None:
    once = cleaned(value)
    assert cleaned(once) is once
    assert unknown(once) == []
