"""Which part of an old object a part of the new one comes from, and whether it was changed.

An object that was valid once must not become impossible to edit when its schema is tightened: what an update leaves
alone is not held against it. Parts are matched by field name, by map key, and in lists of `x-kubernetes-list-type:
map` by their keys. Items of other lists cannot be matched; such a list is unchanged only as a whole.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.crd.value_checks import same
from nagaya.apiserver.schema.types import MISSING


class Correlation:
    """A value beside the value it replaces. Made on the way down and kept, so that nothing is compared twice."""

    __slots__ = ("_children", "_old_items", "_unchanged", "old", "schema", "value")

    def __init__(self, value: Any, old: Any, schema: Schema) -> None:
        self.value = value
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlation] = {}
        self._old_items: MapList | None = None
        self._unchanged: bool | None = None

    def key(self, name: str) -> Correlation | None:
        """The member of that name, if both objects have it and the schema knows it."""
        if (known := self._children.get(name)) is not None:
            return known
        if not isinstance(self.old, dict) or not isinstance(self.value, dict):
            return None
        if name not in self.old or name not in self.value:
            return None
        schema = self.schema.properties.get(name) or self.schema.values
        if schema is None:
            return None
        child = self._children[name] = Correlation(self.value[name], self.old[name], schema)
        return child

    def index(self, position: int) -> Correlation | None:
        """The item at that position, if the old list has one with the same keys."""
        if (known := self._children.get(position)) is not None:
            return known
        if not isinstance(self.value, list) or not isinstance(self.old, list) or self.schema.list_type != "map":
            return None
        if self._old_items is None:
            self._old_items = MapList(self.schema, self.old)
        old = self._old_items.find(self.value[position])
        if old is MISSING or self.schema.items is None:
            return None
        child = self._children[position] = Correlation(self.value[position], old, self.schema.items)
        return child

    @property
    def unchanged(self) -> bool:
        """Whether the new value equals the old one."""
        if self._unchanged is None:
            self._unchanged = self._compare()
        return self._unchanged

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if value is old:
            return True
        if isinstance(value, dict) and isinstance(old, dict):
            if len(value) != len(old):
                return False
            # A member that the schema does not know cannot be matched, so the object counts as changed.
            return all((child := self.key(name)) is not None and child.unchanged for name in value)
        if (
            isinstance(value, list)
            and isinstance(old, list)
            and len(value) == len(old)
            and self.schema.list_type == "map"
        ):
            return all(
                (child := self.index(position)) is not None and child.unchanged for position in range(len(value))
            )
        return same(value, old)


class MapList:
    """The items of an old list, found by their keys."""

    __slots__ = ("_by_key", "_keys")

    def __init__(self, schema: Schema, items: list[Any]) -> None:
        self._keys = schema.map_keys if schema.type == "array" and schema.list_type == "map" else []
        self._by_key: dict[tuple[Any, ...], Any] = {}
        for item in items:
            key = self._key(item)
            if key is not None:
                self._by_key.setdefault(key, item)

    def find(self, item: Any) -> Any:
        """The old item with the keys of a new one, MISSING if there is none or the new one lacks a key."""
        key = self._key(item)
        return MISSING if key is None else self._by_key.get(key, MISSING)

    def _key(self, item: Any) -> tuple[Any, ...] | None:
        if not self._keys or not isinstance(item, dict):
            return None
        parts: list[Any] = []
        for name in self._keys:
            part = item.get(name)
            if not isinstance(part, (str, int, float)):
                return None
            parts += (type(part), part)
        return tuple(parts)
