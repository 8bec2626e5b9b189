from __future__ import annotations

import copy
from typing import Any

from nagaya.apiserver.crd import defaults
from nagaya.apiserver.crd.schema import read


def filled(value: Any, **properties: Any) -> Any:
    fill = defaults.compile_schema(read({"type": "object", "properties": properties}))
    assert fill is not None
    before = copy.deepcopy(value)
    result = fill(value)
    assert value == before
    return result


def test_a_schema_without_defaults_compiles_to_nothing() -> None:
    assert defaults.compile_schema(read({"type": "object", "properties": {"a": {"type": "string"}}})) is None


def test_an_absent_member_gets_its_default() -> None:
    assert filled({}, size={"type": "integer", "default": 3}) == {"size": 3}


def test_an_object_that_needs_nothing_is_given_back_itself() -> None:
    fill = defaults.compile_schema(
        read({"type": "object", "properties": {"size": {"type": "integer", "default": 3}, "b": {"type": "object"}}})
    )
    value = {"size": 0, "b": {}}
    assert fill is not None
    assert fill(value) is value


def test_null_is_replaced_only_where_null_is_not_allowed() -> None:
    strict = {"type": "string", "default": "x"}
    assert filled({"a": None, "b": None}, a=strict, b={**strict, "nullable": True}) == {"a": "x", "b": None}


def test_a_default_is_filled_in_further_by_the_schema_below_it() -> None:
    inner = {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}}
    assert filled({}, spec=inner) == {"spec": {"a": 1}}


def test_defaults_do_not_create_the_objects_they_are_in() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    assert filled({}, spec=inner) == {}
    assert filled({"spec": {}}, spec=inner) == {"spec": {"a": 1}}


def test_items_and_entries_are_filled_in() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    value = {"list": [{}, {"a": 2}], "map": {"x": {}, "y": {"a": 3}}}
    assert filled(
        value, list={"type": "array", "items": inner}, map={"type": "object", "additionalProperties": inner}
    ) == {"list": [{"a": 1}, {"a": 2}], "map": {"x": {"a": 1}, "y": {"a": 3}}}


def test_null_items_and_entries_become_the_default() -> None:
    inner = {"type": "string", "default": "d"}
    value = {"list": [None, "a"], "map": {"x": None}}
    assert filled(
        value, list={"type": "array", "items": inner}, map={"type": "object", "additionalProperties": inner}
    ) == {"list": ["d", "a"], "map": {"x": "d"}}


def test_every_object_gets_a_default_of_its_own() -> None:
    fill = defaults.compile_schema(
        read({"type": "object", "properties": {"a": {"type": "object", "default": {"list": [1]}}}})
    )
    assert fill is not None
    first = fill({})
    first["a"]["list"].append(2)
    assert fill({}) == {"a": {"list": [1]}}


def test_a_value_of_a_wrong_type_is_left_for_validation() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    assert filled({"spec": "text"}, spec=inner) == {"spec": "text"}
