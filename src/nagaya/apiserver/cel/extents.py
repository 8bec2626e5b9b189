"""How large data can be that a schema allows, found without looking at any data.

An extent follows from `maxLength`, `maxItems`, `maxProperties` and enumerations. Where the schema sets no limit, the
size of a request does: so many items of this sort fit into it. Extents of what is inside are made when asked for,
because expressions touch few of a schema's nodes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from nagaya.apiserver.cel.escaping import escape
from nagaya.apiserver.cel.objects import with_object_metadata
from nagaya.apiserver.meta.status import JsonObject

REQUEST: Final = 3 * 1024 * 1024  # bytes in the largest request
ITEMS: Final = "@items"
VALUES: Final = "@values"
KEYS: Final = "@keys"

# By format: the least that a text takes in JSON, and the most.
_FORMATS: Final = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
_SCALARS: Final = {"boolean": 4, "number": 1, "integer": 1}
_CHARACTER: Final = 4  # bytes, at most
_TEXT: Final = REQUEST - 2  # the longest text that fits into a request, between its quotes


class Extent:
    """The size of one node's data: `most` characters, items or entries, and at least so many bytes in JSON."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema

    @cached_property
    def most(self) -> int:
        """The most elements; 0 for what has none, such as numbers and objects with named fields."""
        schema, kind = self._schema, self._schema.get("type")
        if schema.get("x-kubernetes-int-or-string"):
            return _limit(schema, "maxLength", _TEXT, _CHARACTER)
        if kind == "string":
            return self._characters()
        if kind == "array":
            items = self.below(ITEMS)
            return _limit(schema, "maxItems", 0 if items is None else (REQUEST - 2) // (items.least_bytes + 1))
        if (values := self.below(VALUES)) is not None:
            return _limit(schema, "maxProperties", (REQUEST - 2) // (values.least_bytes + 6))
        return 0

    def _characters(self) -> int:
        schema, form = self._schema, self._schema.get("format") or ""
        if form in _FORMATS:
            return _FORMATS[form][1]
        if form == "byte":
            return _limit(schema, "maxLength", _TEXT)
        longest = _TEXT
        if listed := schema.get("enum"):
            longest = max((len(each.encode()) for each in listed if isinstance(each, str)), default=0)
        return _limit(schema, "maxLength", longest, _CHARACTER)

    @cached_property
    def least_bytes(self) -> int:
        """The least that the data takes in JSON."""
        schema, kind = self._schema, self._schema.get("type")
        if schema.get("x-kubernetes-int-or-string"):
            return 1
        if kind == "string":
            return _FORMATS.get(schema.get("format") or "", (2, 0))[0]
        if kind == "object" and not isinstance(schema.get("additionalProperties"), dict):
            return 2 + sum(self._required_bytes())
        return _SCALARS.get(kind or "", 2)

    def _required_bytes(self) -> list[int]:
        properties = self._schema.get("properties") or {}
        return [
            len(name.encode()) + found.least_bytes + 4
            for name in set(self._schema.get("required") or ())
            if name in properties
            and properties[name].get("default") is None
            and (found := extent_of(properties[name])) is not None
        ]

    @cached_property
    def _fields(self) -> dict[str, JsonObject]:
        properties = self._schema.get("properties") or {}
        return {escaped: each for name, each in properties.items() if (escaped := escape(name)) is not None}

    @cached_property
    def _below(self) -> dict[str, Extent | None]:
        return {}

    def below(self, step: str) -> Extent | None:
        """The extent of a field, or of the items, values or keys; None if there is no such thing."""
        if step not in self._below:
            self._below[step] = self._find(step)
        return self._below[step]

    def _find(self, step: str) -> Extent | None:
        schema, kind = self._schema, self._schema.get("type")
        values = schema.get("additionalProperties")
        is_map = kind == "object" and isinstance(values, dict)
        if step in (ITEMS, VALUES):
            return extent_of(values if is_map else schema.get("items") if kind == "array" else None)
        if step == KEYS:
            return Extent({}) if is_map else None
        return extent_of(self._fields.get(step)) if kind == "object" and not is_map else None


def extent_of(schema: Any, *, resource_root: bool = False) -> Extent | None:
    """The extent of a schema's data, None if expressions cannot use it."""
    if not isinstance(schema, dict):
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return Extent(schema)
    kind = schema.get("type")
    if kind not in ("array", "object", "string", *_SCALARS):
        return None
    if resource_root or schema.get("x-kubernetes-embedded-resource"):
        schema = with_object_metadata(schema)
    found = Extent(schema)
    if kind == "array" and found.below(ITEMS) is None:
        return None
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict) and found.below(VALUES) is None:
        return None
    return found


def _limit(schema: JsonObject, member: str, otherwise: int, factor: int = 1) -> int:
    given = schema.get(member)
    return max(int(given), 0) * factor if isinstance(given, (int, float)) else otherwise
