from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd.schema import MAX_DEPTH, SchemaTooDeepError, read, says_nothing
from nagaya.apiserver.schema.types import MISSING


def test_absent_null_and_empty_members_are_the_same() -> None:
    for raw in ({}, {"type": None, "required": None, "default": None}, {"type": "", "required": [], "nullable": False}):
        node = read(raw)
        assert (node.type, node.required, node.default, node.nullable) == ("", [], MISSING, False)


def test_nested_schemas_are_read() -> None:
    node = read(
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": {"type": "integer"},
            "allOf": [{"maxProperties": 0}],
            "not": {"minProperties": 1},
        }
    )
    items = node.properties["a"].items
    assert items is not None
    assert items.type == "string"
    assert node.values is not None
    assert node.all_of[0].max_properties == 0
    assert [each.type for each in node.walk()] == ["object", "", "", "array", "string", "integer"]
    assert node.any(lambda each: each.type == "integer")


def test_members_of_a_wrong_type_count_as_absent() -> None:
    node = read({"type": 5, "properties": [], "maximum": True, "enum": "x", "x-kubernetes-validations": "y"})
    assert (node.type, node.properties, node.maximum, node.enum, node.rules) == ("", {}, None, [], [])


def test_a_schema_that_nests_too_deeply_is_refused() -> None:
    raw: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_DEPTH):
        raw = {"type": "array", "items": raw}
    assert read(raw).type == "array"
    with pytest.raises(SchemaTooDeepError):
        read({"type": "array", "items": raw})


def test_a_number_says_something_even_if_it_is_nought() -> None:
    assert says_nothing({"type": "", "required": [], "nullable": False, "title": None})
    assert not says_nothing({"maxLength": 0})
    assert says_nothing({"type": "string"}, frozenset({"type"}))
