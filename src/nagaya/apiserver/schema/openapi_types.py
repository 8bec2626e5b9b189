"""The types of custom resources, made from the OpenAPI schemas of their definitions.

Only what merging and patching need is read: how containers are merged, what list items are told apart by, and which
fields there are. The schema must be structural. Whatever it says about them, `apiVersion`, `kind` and `metadata` of the
object itself, and of the objects embedded in it, are what they are everywhere in Kubernetes.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING, Field, List, ListKind, Map, Scalar, Struct, Type, Untyped

_TEXT: Final = Scalar("string")
_FLAG: Final = Scalar("boolean")
_TIME: Final = Scalar("string", "date-time")
_NUMBER: Final = Scalar("integer", "int64")
_TEXTS: Final = Map(_TEXT)


def _named(**types: Type) -> dict[str, Field]:
    return {name: Field(type_) for name, type_ in types.items()}


_OWNER_REFERENCE: Final = Struct(
    {
        **{name: Field(_TEXT, required=True, default="") for name in ("apiVersion", "kind", "name", "uid")},
        **_named(blockOwnerDeletion=_FLAG, controller=_FLAG),
    },
    name="v1.OwnerReference",
    atomic=True,
)

_MANAGED_FIELDS_ENTRY: Final = Struct(
    _named(
        manager=_TEXT,
        operation=_TEXT,
        apiVersion=_TEXT,
        time=_TIME,
        fieldsType=_TEXT,
        fieldsV1=Untyped("fields"),
        subresource=_TEXT,
    ),
    name="v1.ManagedFieldsEntry",
)

OBJECT_META: Final = Struct(
    _named(
        annotations=_TEXTS,
        creationTimestamp=_TIME,
        deletionGracePeriodSeconds=_NUMBER,
        deletionTimestamp=_TIME,
        finalizers=List(_TEXT, ListKind.SET),
        generateName=_TEXT,
        generation=_NUMBER,
        labels=_TEXTS,
        managedFields=List(_MANAGED_FIELDS_ENTRY),
        name=_TEXT,
        namespace=_TEXT,
        ownerReferences=List(_OWNER_REFERENCE, ListKind.MAP, ("uid",)),
        resourceVersion=_TEXT,
        selfLink=_TEXT,
        uid=_TEXT,
    ),
    name="v1.ObjectMeta",
)
"""The metadata of every object."""

_OBJECT: Final = _named(apiVersion=_TEXT, kind=_TEXT, metadata=OBJECT_META)

_LIST_KINDS: Final = {"set": ListKind.SET, "map": ListKind.MAP, "atomic": ListKind.ATOMIC}


def types_from_openapi(schema: JsonObject | None, *, preserve_unknown: bool = False) -> Struct:
    """The type of a custom resource with this schema. Without one, everything about it is deduced from its objects.

    `preserve_unknown` is what the definition as a whole says (`spec.preserveUnknownFields`).
    """
    if schema is None:
        return Struct({}, preserve_unknown=True)
    preserve = preserve_unknown or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return Struct({**_fields(schema), **_OBJECT}, atomic=_is_atomic(schema), preserve_unknown=preserve)


def _fields(schema: JsonObject) -> dict[str, Field]:
    required = schema.get("required") or ()
    fields = {
        name: Field(_type(each), required=name in required, default=each.get("default", MISSING))
        for name, each in (schema.get("properties") or {}).items()
    }
    return {**fields, **_OBJECT} if schema.get("x-kubernetes-embedded-resource") else fields


def _type(schema: JsonObject) -> Type:
    if schema.get("x-kubernetes-int-or-string"):
        return Scalar("int-or-string")
    kind = schema.get("type") or ""
    if kind == "array":
        return _list(schema)
    if kind == "object" or schema.get("properties"):
        return _object(schema)
    if kind:
        return Scalar(kind, schema.get("format") or "")
    return Untyped()


def _list(schema: JsonObject) -> List:
    kind = _LIST_KINDS[schema.get("x-kubernetes-list-type") or "atomic"]
    return List(_type(schema.get("items") or {}), kind, tuple(schema.get("x-kubernetes-list-map-keys") or ()))


def _object(schema: JsonObject) -> Type:
    atomic = _is_atomic(schema)
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        return Map(_type(others), atomic=atomic)
    fields = _fields(schema)
    if others is True or not fields:
        return Map(Untyped(), atomic=atomic)
    return Struct(fields, atomic=atomic, preserve_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")))


def _is_atomic(schema: JsonObject) -> bool:
    return schema.get("x-kubernetes-map-type") == "atomic"
