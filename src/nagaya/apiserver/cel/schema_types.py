"""The CEL types that a schema gives its data.

An object becomes a type of its own, named by its path below the node the rules stand at (`selfType.spec.@idx`),
because messages show these names. What the schema does not describe has no type and cannot be used: unknown fields,
and lists or maps of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.escaping import escape
from nagaya.apiserver.cel.objects import with_object_metadata
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.meta.status import JsonObject

_SCALARS: Final = {"boolean": types.BOOL, "number": types.DOUBLE, "integer": types.INT}
_FORMATS: Final = {
    "byte": types.BYTES,
    "duration": types.DURATION,
    "date": types.TIMESTAMP,
    "date-time": types.TIMESTAMP,
}
_ALIASES: Final = {"timestamp": types.TIMESTAMP, "duration": types.DURATION, "any": types.ANY}


class SchemaTypes:
    """The object types of a schema. They are found when an expression first touches them."""

    def __init__(self) -> None:
        self._objects: dict[str, JsonObject] = {}
        self._escaped: dict[str, dict[str, Any]] = {}
        self._fields: dict[tuple[str, str], CelType | None] = {}

    def declare(self, schema: JsonObject, name: str, *, resource_root: bool = False) -> CelType | None:
        """The type of data with this schema, None if expressions cannot use it. `name` is for the objects in it."""
        if schema.get("x-kubernetes-int-or-string"):
            return types.DYN
        if resource_root:
            schema = with_object_metadata(schema)
        kind = schema.get("type")
        if kind == "array":
            element = self._below(schema.get("items"), f"{name}.@idx")
            return None if element is None else types.list_of(element)
        if kind == "object":
            values = schema.get("additionalProperties")
            if isinstance(values, dict):
                value = self._below(values, f"{name}.@elem")
                return None if value is None else types.map_of(types.STRING, value)
            self._objects[name] = schema
            return types.struct(name)
        if kind == "string":
            return _FORMATS.get(schema.get("format") or "", types.STRING)
        return _SCALARS.get(kind or "")

    def _below(self, schema: Any, name: str) -> CelType | None:
        if not isinstance(schema, dict):
            return None
        return self.declare(schema, name, resource_root=bool(schema.get("x-kubernetes-embedded-resource")))

    def has(self, name: str) -> bool:
        """Whether there is such a type."""
        return name in self._objects

    def field(self, name: str, field: str) -> CelType | None:
        """The type of an object's field, by its escaped name."""
        if (name, field) not in self._fields:
            self._fields[name, field] = self._find_field(name, field)
        return self._fields[name, field]

    def _find_field(self, name: str, field: str) -> CelType | None:
        properties = self._escaped.get(name)
        if properties is None:
            declared = self._objects[name].get("properties") or {}
            properties = {escaped: schema for each, schema in declared.items() if (escaped := escape(each))}
            self._escaped[name] = properties
        return self._below(properties.get(field), f"{name}.{field}")

    def constructor(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """Expressions cannot write objects of a schema."""
        return None

    @property
    def aliases(self) -> Mapping[str, CelType]:
        """Names by which schemas know types of the language."""
        return _ALIASES
