"""The built-in types as published schemas, made from the facts about their Go types.

Names are Kubernetes' own (`io.k8s.api.core.v1.Pod`): kubectl and other clients look them up. Fields have no
descriptions; a kind says what it is in one line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.gotypes import GoScalar, GoStruct, GoUntyped
from nagaya.apiserver.crd.openapi import reference
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING, Field, List, ListKind, Map, Scalar, Struct, Type, Untyped

_PREFIXES: Final[Mapping[str, str]] = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
_API: Final = "io.k8s.api"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

# Types that are published under a name of their own although they have no fields: name and schema.
_NAMED: Final[Mapping[str, tuple[str, JsonObject]]] = {
    "date-time": (f"{_META}.Time", {"type": "string", "format": "date-time"}),
    "micro-time": (f"{_META}.MicroTime", {"type": "string", "format": "date-time"}),
    "quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {"oneOf": [{"type": "string"}, {"type": "number"}]},
    ),
    "int-or-string": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    "raw": ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    "fields": (f"{_META}.FieldsV1", {"type": "object"}),
    "json": (f"{_PREFIXES['apiextensions']}.v1.JSON", {}),
    "schema-or-bool": (f"{_PREFIXES['apiextensions']}.v1.JSONSchemaPropsOrBool", {}),
    "schema-or-list": (f"{_PREFIXES['apiextensions']}.v1.JSONSchemaPropsOrArray", {}),
    "schema-or-strings": (f"{_PREFIXES['apiextensions']}.v1.JSONSchemaPropsOrStringArray", {}),
}
_PATCH: Final = f"{_META}.Patch"

# What `kubectl explain` says of the fields that every kind has.
_DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "meta/v1.ObjectMeta": {
        "annotations": "Annotations hold what tools and people want to remember about the object.",
        "creationTimestamp": "CreationTimestamp is a timestamp of when the object was created. Set by the server.",
        "deletionGracePeriodSeconds": "How long the object may take to end once its deletion was asked for.",
        "deletionTimestamp": "When the object is to be gone. Set by the server when its deletion is asked for.",
        "finalizers": "What has to be done before the object may go; it stays until the list is empty.",
        "generateName": "A prefix from which the server makes a unique name, if no name is given.",
        "generation": "Counts the changes of what is wanted. Set by the server.",
        "labels": "Labels are what objects are selected by.",
        "managedFields": "Who set which field. Kept by the server.",
        "name": "The name, unique among the objects of this kind in the namespace.",
        "namespace": "The namespace that the object is in.",
        "ownerReferences": "The objects this one depends on: it goes when the last of them has gone.",
        "resourceVersion": "The state of the object. An update that names it fails if the object has changed since.",
        "selfLink": "Not used any more.",
        "uid": "What tells this object from an earlier one of the same name. Set by the server.",
    },
}
_EVERYWHERE: Final[Mapping[str, str]] = {
    "apiVersion": "APIVersion defines which version of the API this object follows.",
    "kind": "Kind is what this object is, such as Pod.",
    "metadata": "Standard object's metadata: its name, labels, owners and the like.",
    "spec": "What is wanted.",
    "status": "What is observed.",
}


def model_name(key: str) -> str:
    """The published name of a Go type with a key such as `core/v1.PodSpec`."""
    area, _, rest = key.partition("/")
    return f"{_PREFIXES.get(area, f'{_API}.{area}')}.{rest}"


def model_of(kind: GroupVersionKind) -> str:
    """The published name of a built-in kind."""
    return model_name(facts.struct_of(kind).key)


class Publisher:
    """Collects the schemas that some kinds need, each once."""

    def __init__(self, *, v2: bool) -> None:
        self._v2 = v2
        self.schemas: dict[str, JsonObject] = {}
        self._kinds: dict[str, list[JsonObject]] = {}

    def add_kind(self, kind: GroupVersionKind) -> str:
        """Publish a kind with everything it refers to. Returns its name."""
        struct = facts.struct_of(kind)
        name = self._struct(struct)
        entry = {"group": kind.group, "kind": kind.kind, "version": kind.version}
        listed = self.schemas[name].setdefault("x-kubernetes-group-version-kind", [])
        if entry not in listed:
            listed.append(entry)
        return name

    def add_type(self, key: str) -> str:
        """Publish a Go type by its key. Returns its name."""
        return self._struct(facts.struct_of(key))

    def add_patch(self) -> None:
        """Publish the schema of PATCH bodies."""
        self.schemas.setdefault(
            _PATCH, {"type": "object", "description": "What to change, in one of the patch formats."}
        )

    def _struct(self, struct: GoStruct) -> str:
        name = model_name(struct.key)
        if name in self.schemas:
            return name
        schema: JsonObject = {"type": "object"}
        self.schemas[name] = schema
        if struct.key.endswith(".JSONSchemaProps"):
            schema["description"] = "A JSON schema."
        texts = _DESCRIPTIONS.get(struct.key) or (_EVERYWHERE if "apiVersion" in struct.fields else {})
        properties = {field: self._field(each, texts.get(field, "")) for field, each in struct.fields.items()}
        if properties:
            schema["properties"] = properties
        if required := [field for field, each in struct.fields.items() if each.required]:
            schema["required"] = sorted(required)
        if struct.atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        return name

    def _field(self, field: Field, description: str) -> JsonObject:
        schema = self._type(field.type)
        more: JsonObject = {"description": description} if description else {}
        if field.default is not MISSING:
            more["default"] = field.default
        if isinstance(field.type, List):
            more |= _list_marks(field.type)
        if isinstance(field.type, Map) and field.type.atomic:
            more["x-kubernetes-map-type"] = "atomic"
        if field.merge_key:
            more["x-kubernetes-patch-merge-key"] = field.merge_key
        if field.patch_strategy:
            more["x-kubernetes-patch-strategy"] = ",".join(sorted(field.patch_strategy, reverse=True))
        if "$ref" in schema and more and not self._v2:
            return {"allOf": [schema], **more}
        return {**schema, **more}

    def _type(self, kind: Type) -> JsonObject:
        if isinstance(kind, GoStruct):
            return reference(self._struct(kind), v2=self._v2)
        if isinstance(kind, Map):
            return {"type": "object", "additionalProperties": self._type(kind.element)}
        if isinstance(kind, List):
            return {"type": "array", "items": self._type(kind.element)}
        if isinstance(kind, (GoScalar, GoUntyped, Scalar, Untyped)):
            return self._leaf(kind)
        assert not isinstance(kind, Struct), "built-in structs know their key"
        return {}

    def _leaf(self, kind: Scalar | Untyped) -> JsonObject:
        word = kind.format or (kind.name if isinstance(kind, Scalar) else "")
        if word in _NAMED:
            name, schema = _NAMED[word]
            self.schemas.setdefault(name, self._simplified(schema))
            return reference(name, v2=self._v2)
        if isinstance(kind, Untyped):
            return {}
        made: JsonObject = {"type": kind.name}
        if kind.format:
            made["format"] = kind.format
        return made

    def _simplified(self, schema: JsonObject) -> JsonObject:
        """v2 has no `oneOf`; what it cannot say becomes a string."""
        if self._v2 and "oneOf" in schema:
            return {"type": "string", **{key: value for key, value in schema.items() if key != "oneOf"}}
        return dict(schema)


def _list_marks(kind: List) -> JsonObject:
    if kind.kind is ListKind.MAP:
        return {"x-kubernetes-list-map-keys": list(kind.keys), "x-kubernetes-list-type": "map"}
    return {"x-kubernetes-list-type": kind.kind.value}


def list_kinds() -> Iterator[GroupVersionKind]:
    """The kinds of lists among the built-in ones."""
    return (kind for kind in facts.kinds() if kind.kind.endswith("List"))
