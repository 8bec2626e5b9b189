"""What the schema of a built-in type tells strategic merge patch about one of its members."""

from __future__ import annotations

from typing import Final, NamedTuple

from nagaya.apiserver.meta import gostring
from nagaya.apiserver.patch.strategic_error import StrategicPatchError
from nagaya.apiserver.schema.types import Field, List, Map, Scalar, Struct, Type, Untyped

_RAW_TYPES: Final = {"raw": "RawExtension", "json": "JSON", "fields": "FieldsV1"}

# Scalars that are structs in Go, with members that JSON never shows.
_STRUCT_FORMATS: Final = {
    "date-time": "Time",
    "micro-time": "MicroTime",
    "duration": "Duration",
    "quantity": "Quantity",
}


class Member(NamedTuple):
    """How one member is merged. `type` is the member's own for maps, and its items' for lists."""

    type: Type
    strategy: str
    merge_key: str


def map_member(parent: Type, key: str) -> Member:
    """How a member is merged that is a map in both the object and the patch."""
    return _member(_find(parent, key))


def list_member(parent: Type, key: str) -> Member:
    """How a member is merged that is a list in both the object and the patch."""
    field = _find(parent, key)
    member = _member(field)
    if isinstance(field.type, List):
        if isinstance(field.type.element, List):
            raise StrategicPatchError("unexpected slice of slice")
        return member._replace(type=field.type.element)
    if field.pointer:
        return member
    raise StrategicPatchError(f"expected slice or array type, but got: {kind(parent)}")


def _find(parent: Type, key: str) -> Field:
    if not isinstance(parent, Struct):
        name = _hidden_struct(parent)
        if name:
            raise _no_such_field(name, key)
        raise StrategicPatchError(f"merging an object in json but data type is not struct, instead is: {kind(parent)}")
    fields = parent.fields
    found = fields.get(key)
    if found is not None:
        return found
    folded = key.casefold()
    for name, field in fields.items():
        if name.casefold() == folded:
            return field
    raise _no_such_field(parent.name.rpartition(".")[2], key)


def _no_such_field(struct: str, key: str) -> StrategicPatchError:
    return StrategicPatchError(f"unable to find api field in struct {struct} for the json field {gostring.quote(key)}")


def _member(field: Field) -> Member:
    strategy = next((each for each in field.patch_strategy if each != "retainKeys"), "")
    return Member(field.type, strategy, field.merge_key)


def kind(type_: Type) -> str:
    """What Go's reflection calls this sort of type."""
    if isinstance(type_, Struct) or _hidden_struct(type_):
        return "struct"
    if isinstance(type_, Map):
        return "map"
    if isinstance(type_, List) or (isinstance(type_, Scalar) and type_.format == "byte"):
        return "slice"
    if isinstance(type_, Scalar):
        return {"boolean": "bool", "integer": type_.format or "int64", "number": "float64"}.get(type_.name, "string")
    return "interface"


def _hidden_struct(type_: Type) -> str:
    """The name of the Go struct behind a type that has no members in JSON, or nothing."""
    if isinstance(type_, Untyped):
        return _RAW_TYPES.get(type_.format, "")
    if isinstance(type_, Scalar):
        return "IntOrString" if type_.name == "int-or-string" else _STRUCT_FORMATS.get(type_.format, "")
    return ""
