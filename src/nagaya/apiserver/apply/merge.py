"""Lays an applied configuration over the live object.

The configuration wins where it says something; nothing is removed. A container that both have is merged item by
item; an empty container or a null replaces nothing that has items. In lists whose items are told apart, items of the
configuration come in its order, and items only the live object has keep their place among them.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.apply.atoms import Atom, ListAtom, MapAtom
from nagaya.apiserver.schema.types import MISSING


def merge(atom: Atom | None, live: Any, config: Any) -> Any:
    """The merged value; what is there on one side only is taken as it is. Both values fit their type."""
    if config is live:
        return live
    assert atom is not None, "merged objects fit their type"
    shape = atom.shape(config) or atom.first
    if shape == "map":
        assert atom.map is not None
        left = live if live.__class__ is dict else None
        right = config if config.__class__ is dict else None
        if not atom.map.atomic and (left or right):
            return _maps(atom.map, left, right)
    elif shape == "list":
        assert atom.list is not None
        before = live if live.__class__ is list else None
        after = config if config.__class__ is list else None
        if atom.list.associative and (before or after):
            return _lists(atom.list, before or [], after or [])
    return config


def _maps(atom: MapAtom, live: dict[str, Any] | None, config: dict[str, Any] | None) -> Any:
    if not live:
        return config
    if not config:
        return live
    result = dict(live)
    fields, element = atom.fields, atom.element
    for name, value in config.items():
        kind = value.__class__
        if name in live and (kind is dict or kind is list or value is None):
            result[name] = merge(fields.get(name, element), live[name], value)
        else:
            result[name] = value
    return result


def _lists(atom: ListAtom, live: list[Any], config: list[Any]) -> list[Any]:
    if not live:
        return config
    if not config:
        return live
    lefts = [atom.element_of(item) for item in live]
    rights = [atom.element_of(item) for item in config]
    left_items = _by_element(lefts, live)
    right_items = dict(zip(rights, config, strict=True))
    element = atom.element
    shared = iter([key for key in rights if key in left_items])
    wanted = next(shared, None)
    merged: set[str] = set()
    result: list[Any] = []
    left = right = 0
    while left < len(lefts) or right < len(rights):
        if left < len(lefts):
            key = lefts[left]
            if right < len(rights):
                if key == rights[right]:
                    merged.add(key)
                    result.append(_item(element, left_items[key], right_items[key]))
                    left += 1
                    right += 1
                    wanted = next(shared, None)
                    continue
                if key in right_items and wanted is not None and wanted != key:
                    left += 1  # the configuration has it too, at a later place
                    continue
            if key not in right_items:
                result.append(live[left])
                left += 1
                continue
            if key in merged:
                left += 1
        if right < len(rights):
            key = rights[right]
            merged.add(key)
            result.append(_item(element, left_items.get(key, MISSING), right_items[key]))
            right += 1
            if wanted == key:
                wanted = next(shared, None)
    return result


def _by_element(elements: list[str], items: list[Any]) -> dict[str, Any]:
    """Items by path element. One that is there twice cannot be merged with and counts as null."""
    result: dict[str, Any] = {}
    for key, item in zip(elements, items, strict=True):
        result[key] = None if key in result else item
    return result


def _item(atom: Atom, live: Any, config: Any) -> Any:
    return config if live is MISSING else merge(atom, live, config)
