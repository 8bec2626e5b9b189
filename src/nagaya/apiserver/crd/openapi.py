"""A definition's schemas as they are published, so that clients know what the objects look like.

kubectl reads them to explain, to validate and to merge. OpenAPI v3 takes a schema nearly as its author wrote it; v2
cannot express nullable values, junctions or unknown fields, and whatever it cannot express is left open rather than
published wrongly. Both add what every object has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.crd.schema import Schema, SchemaTooDeepError, read
from nagaya.apiserver.crd.structural import check, is_int_or_string, unsupported
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject

V2_PREFIX: Final = "#/definitions/"
V3_PREFIX: Final = "#/components/schemas/"
META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

_API_VERSION: Final = "APIVersion defines which version of the API this object follows."
_KIND: Final = "Kind is what this object is, such as Pod."
_METADATA: Final = "Standard object's metadata: its name, labels, owners and the like."
_LIST_METADATA: Final = "What every list has: the version it was read at, and how to go on reading."
_GVK: Final = "x-kubernetes-group-version-kind"
_INT_OR_STRING: Final = ({"type": "integer"}, {"type": "string"})


def model_name(group: str, version: str, kind: str) -> str:
    """The name under which a kind is published: its group backwards, version and kind."""
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


def definitions_v3(definition: JsonObject, version: str) -> dict[str, JsonObject]:
    """The schemas of a kind and of its list by name, for `components.schemas`."""
    return _definitions(definition, version, v2=False)


def definitions_v2(definition: JsonObject, version: str) -> dict[str, JsonObject]:
    """The schemas of a kind and of its list by name, for `definitions`."""
    return _definitions(definition, version, v2=True)


def version_of(definition: JsonObject, name: str) -> JsonObject:
    """A version of a definition."""
    versions: Sequence[JsonObject] = definition["spec"]["versions"]
    return next(version for version in versions if version["name"] == name)


def _definitions(definition: JsonObject, version: str, *, v2: bool) -> dict[str, JsonObject]:
    spec = definition["spec"]
    group, names = spec["group"], spec["names"]
    written = version_of(definition, version)
    kind, list_kind = names["kind"], names["listKind"]
    item = model_name(group, version, kind)
    published = {
        item: _object(_readable(written), v2=v2),
        model_name(group, version, list_kind): _list(item, names, v2=v2),
    }
    selectable = [{"fieldPath": each["jsonPath"].removeprefix(".")} for each in written.get("selectableFields") or ()]
    for schema, name in zip(published.values(), (kind, list_kind), strict=True):
        schema[_GVK] = [{"group": group, "kind": name, "version": version}]
        if selectable:
            schema["x-kubernetes-selectable-fields"] = selectable
    return published


def _readable(version: JsonObject) -> Schema | None:
    """The schema, if it is one that can be published."""
    raw = (version.get("schema") or {}).get("openAPIV3Schema")
    if raw is None:
        return None
    try:
        schema = read(raw)
    except SchemaTooDeepError:
        return None
    return None if unsupported(schema) or check(schema, Path()) else schema


def _object(schema: Schema | None, *, v2: bool) -> JsonObject:
    if schema is None or (v2 and schema.preserve_unknown):
        # Naming some members would make kubectl refuse all others.
        return {"type": "object"}
    published = _published_v2(schema) if v2 else _published_v3(schema)
    published["properties"] = {
        **(published.get("properties") or {}),
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": reference(f"{META}.ObjectMeta", v2=v2, description=_METADATA),
    }
    return published


def _list(item: str, names: JsonObject, *, v2: bool) -> JsonObject:
    items = {"type": "array", "description": f"The {names['plural']}.", "items": reference(item, v2=v2)}
    return {
        "type": "object",
        "description": f"{names['listKind']} is a list of {names['kind']}.",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": _API_VERSION},
            "kind": {"type": "string", "description": _KIND},
            "metadata": reference(f"{META}.ListMeta", v2=v2, description=_LIST_METADATA),
            "items": items,
        },
    }


def reference(name: str, *, v2: bool, description: str = "") -> JsonObject:
    """A schema that stands for another one. In v3 a description beside it takes a detour."""
    target = {"$ref": f"{V2_PREFIX if v2 else V3_PREFIX}{name}"}
    if not description:
        return target
    return {"description": description, **target} if v2 else {"description": description, "allOf": [target]}


def _written(raw: Mapping[str, Any], without: frozenset[str] = frozenset()) -> JsonObject:
    """What the author wrote, without members that say nothing."""
    return {
        name: value
        for name, value in raw.items()
        if name not in without and value is not None and value is not False and value != "" and value != []
    }


def _published_v3(schema: Schema) -> JsonObject:
    published = _written(schema.raw)
    if schema.properties:
        published["properties"] = {name: _published_v3(each) for name, each in schema.properties.items()}
    if schema.items is not None:
        published["items"] = _published_v3(schema.items)
    if schema.additional is not None:
        published["additionalProperties"] = _published_v3(schema.values) if schema.values else schema.additional
    if schema.int_or_string and not is_int_or_string(schema.any_of):
        _spell_out_int_or_string(schema, published)
    if schema.embedded:
        _add_type_meta(published, v2=False)
    return published


def _spell_out_int_or_string(schema: Schema, published: JsonObject) -> None:
    alternatives = [dict(each) for each in _INT_OR_STRING]
    if not schema.any_of:
        published["anyOf"] = alternatives
    elif not (schema.all_of and is_int_or_string(schema.all_of[0].any_of)):
        published["allOf"] = [{"anyOf": alternatives}, *published.get("allOf", ())]


_NOT_IN_V2: Final = frozenset({"allOf", "oneOf", "anyOf", "not", "nullable", "default", "properties", "items"})


def _published_v2(schema: Schema) -> JsonObject:
    published = _written(schema.raw, _NOT_IN_V2)
    open_ended = schema.nullable or bool(schema.preserve_unknown)
    if not open_ended:
        if schema.properties:
            published["properties"] = {name: _published_v2(each) for name, each in schema.properties.items()}
        if schema.items is not None:
            published["items"] = _published_v2(schema.items)
        nullable = {name for name, each in schema.properties.items() if each.nullable}
        required = [name for name in schema.required if name not in nullable]
        if required != schema.required:
            published["required"] = required
    if schema.additional is not None:
        published["additionalProperties"] = _published_v2(schema.values) if schema.values else schema.additional
        if schema.values is not None and schema.values.nullable:
            published.pop("required", None)
    # kubectl cannot cope with a list of nothing, nor with an object that may hold anything.
    untyped = schema.nullable or (schema.preserve_unknown and schema.type in ("object", "array"))
    if untyped:
        published.pop("type", None)
    if published.get("required") == []:
        del published["required"]
    if schema.embedded and not schema.preserve_unknown:
        _add_type_meta(published, v2=True)
    return published


def _add_type_meta(published: JsonObject, *, v2: bool) -> None:
    published["properties"] = {
        **(published.get("properties") or {}),
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": reference(f"{META}.ObjectMeta", v2=v2, description=_METADATA),
    }
    required = published.get("required") or []
    published["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
