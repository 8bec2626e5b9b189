from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import list_types
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta.field_errors import Path

_ENTRY = {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}


def found(schema: dict[str, Any], value: Any) -> list[str]:
    find = list_types.compile_schema(read({"type": "object", "properties": {"x": schema}}))
    assert find is not None
    return [str(error) for error in find({"x": value}, Path())]


def a_set() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}


def a_map(*keys: str) -> dict[str, Any]:
    extension = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return {"type": "array", "items": _ENTRY, **extension}


def test_schemas_without_sets_and_maps_compile_to_nothing() -> None:
    assert list_types.compile_schema(read({"type": "object", "properties": {"x": {"type": "array"}}})) is None


def test_a_value_twice_in_a_set_is_reported_once_at_its_second_place() -> None:
    assert found(a_set(), ["a", "b", "a", "a"]) == ['x[2]: Duplicate value: "a"']


@pytest.mark.parametrize("value", [[1, 1.0, True, "1"], [{"a": 1}, {"a": 2}], [None]])
def test_values_of_different_types_are_different(value: Any) -> None:
    assert found(a_set(), value) == []


def test_keys_in_a_map_are_unique() -> None:
    entries = [{"name": "a"}, {"name": "b"}, {"name": "a", "port": 1}]
    assert found(a_map("name"), entries) == ['x[2]: Duplicate value: {"name":"a"}']


def test_several_keys_count_together() -> None:
    entries = [{"name": "a", "port": 1}, {"name": "a", "port": 2}, {"port": 2, "name": "a"}]
    assert found(a_map("name", "port"), entries) == ['x[2]: Duplicate value: {"name":"a","port":2}']


def test_entries_without_keys_are_the_same() -> None:
    assert found(a_map("name"), [{}, {"port": 1}, None]) == ["x[1]: Duplicate value: {}"]


def test_an_entry_of_a_map_must_be_an_object() -> None:
    assert found(a_map("name"), ["a"]) == ['x[0]: Invalid value: "a": must be an object for an array of list-type map']


def test_duplicates_are_found_at_any_depth() -> None:
    nested = {"type": "array", "items": {"type": "object", "additionalProperties": a_set()}}
    assert found(nested, [{"k": ["a", "a"]}]) == ['x[0][k][1]: Duplicate value: "a"']
