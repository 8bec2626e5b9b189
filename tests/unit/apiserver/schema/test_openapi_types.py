"""The types of custom resources, made from their schemas."""

from typing import Any

import pytest

from nagaya.apiserver.schema.openapi_types import OBJECT_META, types_from_openapi
from nagaya.apiserver.schema.types import MISSING, List, ListKind, Map, Scalar, Struct, Type, Untyped


def type_of(schema: dict[str, Any]) -> Type:
    return types_from_openapi({"type": "object", "properties": {"x": schema}}).fields["x"].type


def test_every_object_has_a_type_and_metadata() -> None:
    root = types_from_openapi({"type": "object", "properties": {"metadata": {"type": "object"}, "spec": {}}})
    assert list(root.fields) == ["metadata", "spec", "apiVersion", "kind"]
    assert root.fields["metadata"].type is OBJECT_META
    assert not root.preserve_unknown


def test_without_a_schema_everything_is_deduced() -> None:
    root = types_from_openapi(None)
    assert root.preserve_unknown
    assert not root.fields


def test_the_definition_as_a_whole_may_preserve_unknown_fields() -> None:
    assert types_from_openapi({"type": "object"}, preserve_unknown=True).preserve_unknown
    assert types_from_openapi({"type": "object", "x-kubernetes-preserve-unknown-fields": True}).preserve_unknown


@pytest.mark.parametrize(
    ("schema", "name", "form"),
    [
        ({"type": "string"}, "string", ""),
        ({"type": "string", "format": "date-time"}, "string", "date-time"),
        ({"type": "integer", "format": "int32"}, "integer", "int32"),
        ({"type": "boolean"}, "boolean", ""),
        ({"x-kubernetes-int-or-string": True}, "int-or-string", ""),
    ],
)
def test_scalars(schema: dict[str, Any], name: str, form: str) -> None:
    scalar = type_of(schema)
    assert isinstance(scalar, Scalar)
    assert (scalar.name, scalar.format) == (name, form)


@pytest.mark.parametrize(
    ("more", "kind", "keys"),
    [
        ({}, ListKind.ATOMIC, ()),
        ({"x-kubernetes-list-type": "atomic"}, ListKind.ATOMIC, ()),
        ({"x-kubernetes-list-type": "set"}, ListKind.SET, ()),
        ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "a"]}, ListKind.MAP, ("b", "a")),
    ],
)
def test_lists_are_atomic_unless_the_schema_says_otherwise(more: Any, kind: ListKind, keys: Any) -> None:
    made = type_of({"type": "array", "items": {"type": "string"}, **more})
    assert isinstance(made, List)
    assert (made.kind, made.keys) == (kind, keys)
    assert isinstance(made.element, Scalar)


@pytest.mark.parametrize("more", [{}, {"additionalProperties": True}, {"x-kubernetes-preserve-unknown-fields": True}])
def test_objects_that_nobody_described_are_maps_of_anything(more: dict[str, Any]) -> None:
    made = type_of({"type": "object", **more})
    assert isinstance(made, Map)
    assert isinstance(made.element, Untyped)
    assert not made.atomic


def test_maps_have_the_type_of_their_values() -> None:
    made = type_of({"type": "object", "additionalProperties": {"type": "integer"}, "x-kubernetes-map-type": "atomic"})
    assert isinstance(made, Map)
    assert isinstance(made.element, Scalar)
    assert made.atomic


def test_structs_have_fields_with_defaults() -> None:
    made = type_of(
        {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}},
            "x-kubernetes-map-type": "atomic",
        }
    )
    assert isinstance(made, Struct)
    assert made.atomic
    assert {name: (field.required, field.default) for name, field in made.fields.items()} == {
        "a": (True, "x"),
        "b": (False, MISSING),
    }


def test_embedded_objects_have_a_type_and_metadata_too() -> None:
    made = type_of({"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {}}})
    assert isinstance(made, Struct)
    assert made.fields["metadata"].type is OBJECT_META
    assert {"apiVersion", "kind", "spec"} < set(made.fields)


def test_a_schema_without_a_type_allows_anything() -> None:
    assert isinstance(type_of({"x-kubernetes-preserve-unknown-fields": True}), Untyped)


def test_metadata_is_merged_the_way_it_is_everywhere() -> None:
    owners, finalizers = OBJECT_META.fields["ownerReferences"].type, OBJECT_META.fields["finalizers"].type
    assert isinstance(owners, List)
    assert isinstance(finalizers, List)
    assert (owners.kind, owners.keys) == (ListKind.MAP, ("uid",))
    assert finalizers.kind is ListKind.SET
