from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.cel.extents import ITEMS, KEYS, REQUEST, VALUES, Extent, extent_of
from support.subtest_cases import subtest_cases

TEXT = {"type": "string"}


def of(schema: dict[str, Any]) -> Extent:
    found = extent_of(schema)
    assert found is not None
    return found


@subtest_cases(
    ("schema", "most"),
    [
        (TEXT, REQUEST - 2),
        ({**TEXT, "maxLength": 5}, 20),  # characters of up to four bytes
        ({**TEXT, "maxLength": 5, "format": "byte"}, 5),
        ({**TEXT, "format": "date-time"}, 32),
        ({**TEXT, "enum": ["a", "größer"]}, 8),
        ({**TEXT, "maxLength": -1}, 0),
        ({"type": "integer"}, 0),
        ({"type": "object"}, 0),
        ({"x-kubernetes-int-or-string": True}, REQUEST - 2),
        ({"type": "array", "items": TEXT}, (REQUEST - 2) // 3),
        ({"type": "array", "items": TEXT, "maxItems": 7}, 7),
        ({"type": "object", "additionalProperties": TEXT}, (REQUEST - 2) // 8),
        ({"type": "object", "additionalProperties": TEXT, "maxProperties": 7}, 7),
    ],
)
def test_limits_follow_from_the_schema_or_from_the_size_of_a_request(schema: dict[str, Any], most: int) -> None:
    assert of(schema).most == most


def test_an_object_takes_at_least_its_required_fields_that_have_no_default() -> None:
    fields = {"name": TEXT, "mode": {**TEXT, "default": "x"}, "note": TEXT}
    schema = {"type": "object", "properties": fields, "required": ["name", "mode"]}

    assert of(schema).least_bytes == len('{"name":"",}')


def test_what_is_inside_is_found_by_steps() -> None:
    schema = {"type": "object", "properties": {"a-b": {"type": "array", "items": {**TEXT, "maxLength": 2}}}}
    fields = of(schema)
    inside = fields.below("a__dash__b")

    assert inside is not None
    assert (items := inside.below(ITEMS)) is not None
    assert items.most == 8
    assert fields.below("a-b") is None
    assert fields.below(VALUES) is None


def test_keys_of_a_map_count_as_nothing() -> None:
    keys = of({"type": "object", "additionalProperties": TEXT}).below(KEYS)
    assert keys is not None
    assert keys.most == 0


@pytest.mark.parametrize(
    "schema",
    [
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
        {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    ],
)
def test_data_without_a_type_has_no_extent(schema: dict[str, Any]) -> None:
    assert extent_of(schema) is None
