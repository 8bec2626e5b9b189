"""CustomResourceDefinitions, made from the models: one source for what controllers read and what users may write.

How a model becomes a structural schema:

- A field without a default is required. `doc(required=...)` says otherwise where the API and Python differ.
- Integers are 32 bits wide unless `doc(format="int64")` says so; `int | str` is Kubernetes' IntOrString; a time is
  RFC 3339; `Any` is whatever JSON there is.
- A description comes from `doc`, for items of lists and values of maps from the docstring of their model.
- What holds of a model wherever it is used (rules, `minProperties`) stands in its class attribute `__schema__`, in the
  words of `doc`.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Mapping
from copy import deepcopy
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, cast, get_args, get_origin

import msgspec
from msgspec import NODEFAULT

from nagaya.api.definition import Column, Definition, Scale
from nagaya.api.model import Model

Schema = dict[str, Any]

_SCALARS: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int32"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {"x-kubernetes-preserve-unknown-fields": True},
}
_INT_OR_STRING: Final[Schema] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_KUBERNETES_WORDS: Final[Mapping[str, str]] = {
    "list_type": "x-kubernetes-list-type",
    "list_map_keys": "x-kubernetes-list-map-keys",
    "map_type": "x-kubernetes-map-type",
    "int_or_string": "x-kubernetes-int-or-string",
    "preserve_unknown": "x-kubernetes-preserve-unknown-fields",
    "embedded": "x-kubernetes-embedded-resource",
    "rules": "x-kubernetes-validations",
}


def render(definition: Definition) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind, ready to be sent to an API server."""
    kind = definition.kind
    singular = kind.kind.lower()
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": singular,
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    version: dict[str, Any] = {"name": kind.version, "served": True, "storage": True}
    if definition.columns:
        version["additionalPrinterColumns"] = [_column(column) for column in definition.columns]
    version["schema"] = {"openAPIV3Schema": schema(definition)}
    version["subresources"] = _subresources(definition)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": dict(definition.labels)},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def schema(definition: Definition) -> Schema:
    """The schema of whole objects of a kind."""
    model = definition.kind.model
    result = _model(model)
    result["description"] = definition.description or _docstring(model)
    properties: Schema = {
        "apiVersion": {
            "type": "string",
            "description": f"The group and version of this object's schema: {definition.kind.api_version}.",
        },
        "kind": {"type": "string", "description": f"What this object is: {definition.kind.kind}."},
        "metadata": {"type": "object"},
    }
    result["properties"] = {**properties, **{k: v for k, v in result["properties"].items() if k != "metadata"}}
    return result


def _model(model: type[Any]) -> Schema:
    properties: Schema = {}
    required: list[str] = []
    for field in _fields(cast(Hashable, model)):
        properties[field.encode_name] = _schema(field.type)
        if _is_required(field):
            required.append(field.encode_name)
    result: Schema = {"type": "object"}
    if properties:
        result["properties"] = properties
    if required:
        result["required"] = required
    result.update(_words(getattr(model, "__schema__", {})))
    return result


@cache
def _fields(model: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a model. Evaluating annotations takes most of the time of rendering, and kinds share models."""
    return msgspec.structs.fields(model)


def _is_required(field: msgspec.structs.FieldInfo) -> bool:
    said = [word["required"] for word in _said(field.type) if "required" in word]
    return said[-1] if said else field.default is NODEFAULT and field.default_factory is NODEFAULT


def _said(type_: Any) -> list[Mapping[str, Any]]:
    """What the annotations of a type say, the innermost first."""
    if get_origin(type_) is not Annotated:
        return []
    return [(meta.extra or {}).get("schema", {}) for meta in get_args(type_)[1:]]


def _schema(type_: Any) -> Schema:
    if get_origin(type_) is Annotated:
        inner, *annotations = get_args(type_)
        result = _schema(inner)
        for meta in annotations:
            if meta.description:
                result["description"] = meta.description
        for words in _said(type_):
            result.update(_words({word: value for word, value in words.items() if word != "required"}))
        return result
    if get_origin(type_) in (Union, UnionType):
        return _union(tuple(each for each in get_args(type_) if each is not NoneType))
    if get_origin(type_) is Literal:
        return {"type": "string", "enum": list(get_args(type_))}
    if get_origin(type_) is tuple:
        return {"type": "array", "items": _element(get_args(type_)[0])}
    if isinstance(get_origin(type_), type) and issubclass(get_origin(type_), Mapping):
        values = get_args(type_)[1]
        if values is Any:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return {"type": "object", "additionalProperties": _element(values)}
    if isinstance(type_, type) and issubclass(type_, Model):
        return _model(type_)
    return dict(_SCALARS[type_])


def _union(types: tuple[Any, ...]) -> Schema:
    if len(types) == 1:
        return _schema(types[0])
    if set(types) == {int, str}:
        return deepcopy(_INT_OR_STRING)
    raise TypeError(f"no structural schema for a union of {types}")


def _element(type_: Any) -> Schema:
    """The schema of an item of a list or a value of a map: nobody describes it there, so the model does."""
    result = _schema(type_)
    if isinstance(type_, type) and issubclass(type_, Model):
        result["description"] = _docstring(type_)
    return result


def _words(schema: Mapping[str, Any]) -> Schema:
    # Copies, because the result belongs to the caller and the annotations belong to the models.
    return {_KUBERNETES_WORDS.get(word, word): deepcopy(value) for word, value in schema.items()}


def _docstring(model: type[Any]) -> str:
    return inspect.cleandoc(model.__doc__ or "")


def _column(column: Column) -> dict[str, Any]:
    optional = {"description": column.description, "format": column.format, "priority": column.priority}
    return {
        "name": column.name,
        "jsonPath": column.path,
        "type": column.type,
        **{name: value for name, value in optional.items() if value},
    }


def _subresources(definition: Definition) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if definition.status:
        result["status"] = {}
    if definition.scale is not None:
        result["scale"] = _scale(definition.scale)
    return result


def _scale(scale: Scale) -> dict[str, Any]:
    result = {"specReplicasPath": scale.spec_replicas, "statusReplicasPath": scale.status_replicas}
    if scale.selector:
        result["labelSelectorPath"] = scale.selector
    return result
