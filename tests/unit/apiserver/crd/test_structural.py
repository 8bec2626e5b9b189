from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.crd import structural
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.meta.field_errors import Path
from support.subtest_cases import subtest_cases


def problems(raw: dict[str, Any]) -> list[str]:
    return [str(error) for error in structural.check(read(raw), Path("s"))]


def field(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        field({"type": "array", "items": {"type": "string"}}),
        field({"x-kubernetes-preserve-unknown-fields": True}),
        field({"x-kubernetes-int-or-string": True}),
        field({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        field(
            {
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "^a"}],
            }
        ),
        {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"maxLength": 5}}}}},
    ],
)
def test_what_is_structural(schema: dict[str, Any]) -> None:
    metadata = schema.get("properties", {}).get("metadata")
    if metadata:
        metadata["properties"]["name"]["type"] = "string"
    assert problems(schema) == []


@subtest_cases(
    ("schema", "message"),
    [
        ({}, "s.type: Required value: must not be empty at the root"),
        ({"type": "string"}, 's.type: Invalid value: "string": must be object at the root'),
        (field({}), "s.properties[x].type: Required value: must not be empty for specified object fields"),
        (
            field({"type": "array", "items": {}}),
            "s.properties[x].items.type: Required value: must not be empty for specified array items",
        ),
        (field({"type": "array"}), "s.properties[x].items: Required value: must be specified"),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            "s.additionalProperties: Forbidden: must not be used at the root",
        ),
        (
            field({"type": "string", "anyOf": [{"type": "string"}]}),
            "s.properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            field({"type": "string", "not": {"description": "d"}}),
            "s.properties[x].not.description: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "allOf": [{"properties": {"y": {"minLength": 1}}}]},
            "s.properties[y]: Required value: because it is defined in s.allOf[0].properties[y]",
        ),
        (
            field({"type": "object", "x-kubernetes-embedded-resource": True}),
            "s.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields",
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "description": "d"}}},
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
            "but metadata is implicitly specified",
        ),
        (
            field({"type": "string", "pattern": "("}),
            's.properties[x].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
            "error parsing regexp: missing closing ): `(`",
        ),
    ],
)
def test_what_is_not_structural(schema: dict[str, Any], message: str) -> None:
    assert problems(schema) == [message]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"$ref": "#/x"}, "OpenAPIV3Schema '$ref' is not supported"),
        ({"$schema": "x"}, "OpenAPIV3Schema 'schema' is not supported"),
        ({"additionalItems": False}, "OpenAPIV3Schema 'additionalItems' is not supported"),
        ({"items": [{}]}, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        ({"patternProperties": {}}, ""),
    ],
)
def test_what_cannot_be_part_of_a_structural_schema(schema: dict[str, Any], reason: str) -> None:
    assert structural.unsupported(read(field(schema))) == reason
