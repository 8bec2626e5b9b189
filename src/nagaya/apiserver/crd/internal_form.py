"""Parts of a definition as the real server shows them in messages: under the names of its internal Go types.

Nobody would choose this form, but people search for the messages that contain it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from nagaya.apiserver.meta.status import JsonObject

Shown = orjson.Fragment


def _shown(value: Any) -> Shown:
    # Struct members keep their order; maps are sorted where they are made.
    text = orjson.dumps(value).decode()
    for char, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(char, escape)
    return Shown(text.encode())


def versions(raw: Sequence[JsonObject]) -> Shown:
    """The list of versions, without what is the same in all of them."""
    return _shown([_version(each) for each in raw])


def schema(raw: Mapping[str, Any]) -> Shown:
    """A whole schema."""
    return _shown(_schema(raw))


def items(raw: Sequence[JsonObject]) -> Shown:
    """A list of schemas where there should be one."""
    return _shown(_or_list(raw))


def rule(raw: Mapping[str, Any]) -> Shown:
    """A validation rule."""
    return _shown(_rule(raw))


def _version(raw: Mapping[str, Any]) -> JsonObject:
    validation, subresources = raw.get("schema"), raw.get("subresources")
    return {
        "Name": raw.get("name") or "",
        "Served": bool(raw.get("served")),
        "Storage": bool(raw.get("storage")),
        "Deprecated": bool(raw.get("deprecated")),
        "DeprecationWarning": raw.get("deprecationWarning"),
        "Schema": None if validation is None else {"OpenAPIV3Schema": _optional(validation.get("openAPIV3Schema"))},
        "Subresources": None if subresources is None else _subresources(subresources),
        "AdditionalPrinterColumns": _listed(raw.get("additionalPrinterColumns"), _column),
        "SelectableFields": _listed(raw.get("selectableFields"), lambda each: {"JSONPath": each.get("jsonPath") or ""}),
    }


def _subresources(raw: Mapping[str, Any]) -> JsonObject:
    status, scale = raw.get("status"), raw.get("scale")
    return {
        "Status": None if status is None else {},
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath") or "",
            "StatusReplicasPath": scale.get("statusReplicasPath") or "",
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _column(raw: Mapping[str, Any]) -> JsonObject:
    return {
        "Name": raw.get("name") or "",
        "Type": raw.get("type") or "",
        "Format": raw.get("format") or "",
        "Description": raw.get("description") or "",
        "Priority": raw.get("priority") or 0,
        "JSONPath": raw.get("jsonPath") or "",
    }


def _rule(raw: Mapping[str, Any]) -> JsonObject:
    return {
        "Rule": raw.get("rule") or "",
        "Message": raw.get("message") or "",
        "MessageExpression": raw.get("messageExpression") or "",
        "Reason": raw.get("reason"),
        "FieldPath": raw.get("fieldPath") or "",
        "OptionalOldSelf": raw.get("optionalOldSelf"),
    }


def _listed(raw: Any, form: Callable[[Any], Any]) -> list[Any] | None:
    return [form(each) for each in raw] if isinstance(raw, list) else None


def _mapped(raw: Any, form: Callable[[Any], Any]) -> JsonObject | None:
    return {name: form(raw[name]) for name in sorted(raw)} if isinstance(raw, dict) else None


def _optional(raw: Any) -> JsonObject | None:
    return _schema(raw) if isinstance(raw, dict) else None


def _or_truth(raw: Any) -> JsonObject | None:
    return None if raw is None else {"Allows": raw is not False, "Schema": _optional(raw)}


def _or_list(raw: Any) -> JsonObject | None:
    return None if raw is None else {"Schema": _optional(raw), "JSONSchemas": _listed(raw, _schema)}


def _or_names(raw: Any) -> JsonObject:
    return {"Schema": _optional(raw), "Property": raw if isinstance(raw, list) else None}


def _documentation(raw: Any) -> JsonObject | None:
    return {"Description": raw.get("description") or "", "URL": raw.get("url") or ""} if raw else None


def _text(raw: Any) -> str:
    return raw or ""


def _as_is(raw: Any) -> Any:
    return raw


_MEMBERS: Final[tuple[tuple[str, str, Callable[[Any], Any]], ...]] = (
    ("ID", "id", _text),
    ("Schema", "$schema", _text),
    ("Ref", "$ref", _as_is),
    ("Description", "description", _text),
    ("Type", "type", _text),
    ("Nullable", "nullable", bool),
    ("Format", "format", _text),
    ("Title", "title", _text),
    ("Default", "default", _as_is),
    ("Maximum", "maximum", _as_is),
    ("ExclusiveMaximum", "exclusiveMaximum", bool),
    ("Minimum", "minimum", _as_is),
    ("ExclusiveMinimum", "exclusiveMinimum", bool),
    ("MaxLength", "maxLength", _as_is),
    ("MinLength", "minLength", _as_is),
    ("Pattern", "pattern", _text),
    ("MaxItems", "maxItems", _as_is),
    ("MinItems", "minItems", _as_is),
    ("UniqueItems", "uniqueItems", bool),
    ("MultipleOf", "multipleOf", _as_is),
    ("Enum", "enum", _as_is),
    ("MaxProperties", "maxProperties", _as_is),
    ("MinProperties", "minProperties", _as_is),
    ("Required", "required", _as_is),
    ("Items", "items", _or_list),
    ("AllOf", "allOf", lambda raw: _listed(raw, _schema)),
    ("OneOf", "oneOf", lambda raw: _listed(raw, _schema)),
    ("AnyOf", "anyOf", lambda raw: _listed(raw, _schema)),
    ("Not", "not", _optional),
    ("Properties", "properties", lambda raw: _mapped(raw, _schema)),
    ("AdditionalProperties", "additionalProperties", _or_truth),
    ("PatternProperties", "patternProperties", lambda raw: _mapped(raw, _schema)),
    ("Dependencies", "dependencies", lambda raw: _mapped(raw, _or_names)),
    ("AdditionalItems", "additionalItems", _or_truth),
    ("Definitions", "definitions", lambda raw: _mapped(raw, _schema)),
    ("ExternalDocs", "externalDocs", _documentation),
    ("Example", "example", _as_is),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _as_is),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", bool),
    ("XIntOrString", "x-kubernetes-int-or-string", bool),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _as_is),
    ("XListType", "x-kubernetes-list-type", _as_is),
    ("XMapType", "x-kubernetes-map-type", _as_is),
    ("XValidations", "x-kubernetes-validations", lambda raw: _listed(raw, _rule)),
)

MEMBER_NAMES: Final = tuple((name, member) for name, member, _ in _MEMBERS)
"""The members of a schema in the order of the Go type: the name there and the name in JSON."""


def _schema(raw: Mapping[str, Any] | None) -> JsonObject:
    raw = raw or {}
    return {name: form(raw.get(member)) for name, member, form in _MEMBERS}
