"""An object before anybody has written it.

Built-in kinds are structs in Kubernetes, and some of their members are written even when they are empty (`status:
{}`). A new object therefore is not compared with nothing but with an empty struct: members that every object has are
set by nobody. Custom resources start with nothing but their type.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import Field, Omit, Scalar, Struct, Untyped


def zero_object(kind: GroupVersionKind, struct: Struct) -> JsonObject:
    """The empty object of a kind."""
    members = _struct(struct) if struct.name else {}
    return {**members, "apiVersion": kind.api_version, "kind": kind.kind}


def _struct(struct: Struct) -> JsonObject:
    return {name: _value(field) for name, field in struct.fields.items() if _is_written(field)}


# In Go these are structs as well, so leaving out empty members does not leave them out.
_STRUCTS: Final = frozenset({"date-time", "micro-time", "quantity", "duration", "raw", "json"})


def _is_written(field: Field) -> bool:
    if field.omit is not Omit.EMPTY:
        return field.omit is Omit.NEVER
    if field.pointer:
        return False
    kind = field.type
    if isinstance(kind, Scalar | Untyped):
        return kind.format in _STRUCTS or (isinstance(kind, Scalar) and kind.name == "int-or-string")
    return isinstance(kind, Struct) and bool(kind.name)


_TEXTS: Final = {"quantity": "0", "duration": "0s", "date-time": None, "micro-time": None}


def _value(field: Field) -> Any:
    if field.pointer:
        return None
    if isinstance(field.type, Struct):
        return _struct(field.type)
    if isinstance(field.type, Scalar):
        if field.type.name == "string":
            return None if field.type.format == "byte" else _TEXTS.get(field.type.format, "")
        return False if field.type.name == "boolean" else 0
    return None
