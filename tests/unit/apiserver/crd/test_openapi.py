from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd import openapi

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def crd(schema: dict[str, Any] | None, **version: Any) -> dict[str, Any]:
    written = {} if schema is None else {"schema": {"openAPIV3Schema": schema}}
    return {
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", **written, **version}],
        }
    }


def spec_schema(spec: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": spec}}


def published(schema: dict[str, Any], *, v2: bool = False) -> Any:
    publish = openapi.definitions_v2 if v2 else openapi.definitions_v3
    return publish(crd(spec_schema(schema)), "v1")["io.example.v1.Widget"]["properties"]["spec"]


def test_a_kind_and_its_list_are_published_under_the_reversed_group() -> None:
    found = openapi.definitions_v3(crd(spec_schema({"type": "object"})), "v1")
    assert list(found) == ["io.example.v1.Widget", "io.example.v1.WidgetList"]
    widget, widgets = found.values()
    assert widget["x-kubernetes-group-version-kind"] == [{"group": "example.io", "kind": "Widget", "version": "v1"}]
    assert widgets["x-kubernetes-group-version-kind"] == [
        {"group": "example.io", "kind": "WidgetList", "version": "v1"}
    ]
    assert widget["properties"]["metadata"]["allOf"] == [{"$ref": f"#/components/schemas/{_META}.ObjectMeta"}]
    assert widgets["properties"]["items"]["items"] == {"$ref": "#/components/schemas/io.example.v1.Widget"}
    assert widgets["required"] == ["items"]
    assert {"apiVersion", "kind", "spec"} <= widget["properties"].keys()


def test_v2_refers_to_definitions() -> None:
    widget, widgets = openapi.definitions_v2(crd(spec_schema({"type": "object"})), "v1").values()
    assert widget["properties"]["metadata"]["$ref"] == f"#/definitions/{_META}.ObjectMeta"
    assert widgets["properties"]["metadata"]["$ref"] == f"#/definitions/{_META}.ListMeta"


def test_v3_publishes_what_the_author_wrote() -> None:
    written = {
        "type": "object",
        "description": "d",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "default": "x", "enum": ["x"], "nullable": True},
            "l": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "atomic"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "r": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]},
        },
    }
    assert published(written) == written


def test_members_that_say_nothing_are_left_out() -> None:
    assert published({"type": "object", "nullable": False, "description": "", "required": [], "title": None}) == {
        "type": "object"
    }


def test_int_or_string_is_spelled_out_in_v3_only() -> None:
    flag = {"x-kubernetes-int-or-string": True}
    both = [{"type": "integer"}, {"type": "string"}]
    assert published(flag) == {**flag, "anyOf": both}
    assert published({**flag, "anyOf": both}) == {**flag, "anyOf": both}
    assert published({**flag, "anyOf": [{"minLength": 1}]}) == {
        **flag,
        "anyOf": [{"minLength": 1}],
        "allOf": [{"anyOf": both}],
    }
    assert published({**flag, "anyOf": both}, v2=True) == flag


def test_v2_leaves_open_what_it_cannot_express() -> None:
    written = {
        "type": "object",
        "required": ["n", "s"],
        "properties": {
            "n": {"type": "string", "nullable": True},
            "s": {"type": "string", "default": "x", "anyOf": [{"minLength": 1}], "not": {"pattern": "z"}},
            "o": {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "l": {"type": "array", "items": {"type": "string"}, "nullable": True},
        },
    }
    assert published(written, v2=True) == {
        "type": "object",
        "required": ["s"],
        "properties": {
            "n": {},
            "s": {"type": "string"},
            "o": {"x-kubernetes-preserve-unknown-fields": True},
            "l": {},
        },
    }


def test_embedded_objects_have_what_every_object_has() -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object"}},
    }
    for v2 in (False, True):
        found = published(embedded, v2=v2)
        assert found["required"] == ["kind", "apiVersion"]
        assert found["properties"].keys() == {"apiVersion", "kind", "metadata", "spec"}
    preserving = {**embedded, "x-kubernetes-preserve-unknown-fields": True}
    assert "properties" not in published(preserving, v2=True)


def test_an_object_that_may_hold_anything_is_empty_in_v2() -> None:
    anything = crd({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    gvk = [{"group": "example.io", "kind": "Widget", "version": "v1"}]
    assert openapi.definitions_v2(anything, "v1")["io.example.v1.Widget"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": gvk,
    }
    assert "metadata" in openapi.definitions_v3(anything, "v1")["io.example.v1.Widget"]["properties"]


def test_a_version_without_a_schema_is_an_object() -> None:
    assert openapi.definitions_v3(crd(None), "v1")["io.example.v1.Widget"]["type"] == "object"


def test_selectable_fields_are_published() -> None:
    written = crd(spec_schema({"type": "object"}), selectableFields=[{"jsonPath": ".spec.color"}])
    for schema in openapi.definitions_v3(written, "v1").values():
        assert schema["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.color"}]
