"""The types that admission policies add: the request, its namespace, composed variables, and objects that expressions
write.

A mutating policy writes `Object{spec: Object.spec{replicas: 1}}` or lists of `JSONPatch{op: "add", ...}`. Nothing is
known of the object's schema, so fields are of any type; only the names of nested types are held against the path they
stand at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.declarations import parse_type
from nagaya.apiserver.cel.operators import equal
from nagaya.apiserver.cel.types import CelType, Kind
from nagaya.apiserver.cel.values import NOTHING, CelError, MapLike, go_type

VARIABLES: Final = "kubernetes.variables"
OBJECT: Final = types.struct("Object")
JSON_PATCH: Final = types.struct("JSONPatch")

_KIND: Final = {"group": "string", "version": "string", "kind": "string"}
_RESOURCE: Final = {"group": "string", "version": "string", "resource": "string"}
_DECLARED: Final = {
    "kubernetes.GroupVersionKind": _KIND,
    "kubernetes.GroupVersionResource": _RESOURCE,
    "kubernetes.UserInfo": {
        "username": "string",
        "uid": "string",
        "groups": "list(string)",
        "extra": "map(string, list(string))",
    },
    "kubernetes.AdmissionRequest": {
        "kind": "kubernetes.GroupVersionKind",
        "resource": "kubernetes.GroupVersionResource",
        "subResource": "string",
        "requestKind": "kubernetes.GroupVersionKind",
        "requestResource": "kubernetes.GroupVersionResource",
        "requestSubResource": "string",
        "name": "string",
        "namespace": "string",
        "operation": "string",
        "userInfo": "kubernetes.UserInfo",
        "dryRun": "bool",
        "options": "dyn",
    },
    "kubernetes.NamespaceSpec": {"finalizers": "list(string)"},
    "kubernetes.NamespaceCondition": {
        "status": "string",
        "type": "string",
        "lastTransitionTime": "timestamp",
        "message": "string",
        "reason": "string",
    },
    "kubernetes.NamespaceStatus": {"conditions": "list(kubernetes.NamespaceCondition)", "phase": "string"},
    "kubernetes.NamespaceMetadata": {
        "name": "string",
        "generateName": "string",
        "namespace": "string",
        "labels": "map(string, string)",
        "annotations": "map(string, string)",
        "UID": "string",
        "creationTimestamp": "timestamp",
        "deletionGracePeriodSeconds": "int",
        "deletionTimestamp": "timestamp",
        "generation": "int",
        "resourceVersion": "string",
        "finalizers": "list(string)",
    },
    "kubernetes.Namespace": {
        "metadata": "kubernetes.NamespaceMetadata",
        "spec": "kubernetes.NamespaceSpec",
        "status": "kubernetes.NamespaceStatus",
    },
}
_STRUCTS: Final[Mapping[str, Mapping[str, CelType]]] = {
    name: {field: parse_type(text) for field, text in fields.items()} for name, fields in _DECLARED.items()
}
_PATCH_FIELDS: Final = {"op": types.STRING, "path": types.STRING, "from": types.STRING, "value": types.DYN}
_ALIASES: Final = {"timestamp": types.TIMESTAMP, "duration": types.DURATION, "any": types.ANY}


class PolicyTypes:
    """The types of one policy: `variables` are the composed variables, with `patches` objects can be written."""

    def __init__(self, variables: Mapping[str, CelType], *, patches: bool) -> None:
        self._variables = variables
        self._patches = patches

    def has(self, name: str) -> bool:
        """Whether there is such a type."""
        return name in _STRUCTS or name == VARIABLES or (self._patches and _is_written(name))

    def field(self, name: str, field: str) -> CelType | None:
        """The type of a field, if the type has it."""
        if name == VARIABLES:
            return self._variables.get(field)
        if name in _STRUCTS:
            return _STRUCTS[name].get(field)
        # Of a patch's unknown fields the real server says only that nothing fits them.
        return _PATCH_FIELDS.get(field, types.UNCHECKED) if name == "JSONPatch" else types.DYN

    def constructor(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """What makes a written object."""
        if not self._patches or not _is_written(name):
            return None
        return JsonPatch if name == "JSONPatch" else lambda fields: WrittenObject(name, fields)

    @property
    def aliases(self) -> Mapping[str, CelType]:
        """Names by which schemas know types of the language."""
        return _ALIASES


def _is_written(name: str) -> bool:
    return name in ("JSONPatch", "Object") or name.startswith("Object.")


def of_variable(given: CelType) -> CelType:
    """The type under which a composed variable is known: lists, maps and scalars are, anything else can be anything."""
    if given.kind in (Kind.LIST, Kind.MAP):
        return CelType(given.kind, given.name, tuple(map(of_variable, given.params)))
    return types.DYN if given.kind in (Kind.STRUCT, Kind.OPAQUE, Kind.TYPE) else given


class WrittenObject(MapLike):
    """An object that an expression wrote. A field that was not written is null."""

    __slots__ = ("fields", "type_name")

    def __init__(self, type_name: str, fields: dict[str, Any]) -> None:
        self.type_name = type_name
        self.fields = fields

    def member(self, field: str) -> Any:
        """The field's value, null if it was not written."""
        return self.fields.get(field)

    def find(self, key: Any) -> Any:
        """The field's value, or `NOTHING`."""
        return self.fields.get(key, NOTHING)

    def keys(self) -> list[Any]:
        """The names of the fields."""
        return list(self.fields)

    def size(self) -> int:
        """How many fields were written."""
        return len(self.fields)

    def native(self) -> Any:
        """The fields."""
        return self.fields

    def equals_object(self, other: Any) -> bool:
        """Whether type and fields are the same."""
        return (
            isinstance(other, WrittenObject)
            and self.type_name == other.type_name
            and self.fields.keys() == other.fields.keys()
            and all(equal(value, other.fields[name]) for name, value in self.fields.items())
        )


class JsonPatch(MapLike):
    """One operation of a JSON patch."""

    __slots__ = ("fields",)

    type_name = "JSONPatch"

    def __init__(self, fields: dict[str, Any]) -> None:
        for name in ("op", "path", "from"):
            if name in fields and not isinstance(fields[name], str):
                raise CelError(f"unexpected type {go_type(fields[name])} for JSONPatchType '{name}' field")
        self.fields = fields

    def member(self, field: str) -> Any:
        """The field's value; a text that was not written is empty."""
        return self.fields.get(field, None if field == "value" else "")

    def find(self, key: Any) -> Any:
        """The field's value, or `NOTHING`."""
        value = self.fields.get(key, NOTHING)
        return NOTHING if key != "value" and value == "" else value

    def keys(self) -> list[Any]:
        """The names of the fields."""
        return list(self.fields)

    def size(self) -> int:
        """How many fields were written."""
        return len(self.fields)

    def native(self) -> Any:
        """The operation."""
        return self.fields


def misnamed(value: Any) -> list[str]:
    """Where the types of nested written objects do not follow from the fields they stand at."""
    root = value.type_name if isinstance(value, WrittenObject) else ""
    return list(_misnamed(value, root))


def _misnamed(value: Any, expected: str) -> Iterator[str]:
    if isinstance(value, WrittenObject):
        if value.type_name != expected:
            yield (
                f'unexpected type name "{value.type_name}", expected "{expected}", which matches field name path from'
                " root Object type"
            )
        for name, each in value.fields.items():
            yield from _misnamed(each, f"{expected}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from _misnamed(each, expected)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _misnamed(each, expected)
