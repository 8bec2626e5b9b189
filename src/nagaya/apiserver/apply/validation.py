"""Whether a value fits its type, as far as merging needs it to.

This is not the validation of objects: ranges, patterns and required fields do not matter here. What matters is that
containers are containers, that list items can be told apart, and that there are no fields nobody described. `fits`
answers yes or no quickly, for every write; `problems` finds the words when the answer has to be explained.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.apply import path_element
from nagaya.apiserver.apply.atoms import BOOLEAN, NUMERIC, STRING, Atom, ListAtom, MapAtom
from nagaya.apiserver.meta import govalue

Problem = tuple[str, str]
"""A path and what is wrong there."""


def fits(atom: Atom, value: Any, *, duplicates: bool = True) -> bool:
    """Whether a value fits. With `duplicates`, list items with the same key are tolerated."""
    kind = value.__class__
    if kind is dict:
        return atom.map is not None and _map_fits(atom.map, value, duplicates)
    if kind is list:
        return atom.list is not None and _list_fits(atom.list, value, duplicates)
    return value is None or kind in atom.scalars


def _map_fits(atom: MapAtom, value: dict[str, Any], duplicates: bool) -> bool:
    if atom.anything:
        return True
    fields, element = atom.fields, atom.element
    for name, item in value.items():
        inner = fields.get(name, element)
        if inner is None:
            return False
        kind = item.__class__
        if kind in inner.scalars or item is None:
            continue
        if kind is dict:
            if inner.map is None or not _map_fits(inner.map, item, duplicates):
                return False
        elif kind is not list or inner.list is None or not _list_fits(inner.list, item, duplicates):
            return False
    return True


def _list_fits(atom: ListAtom, value: list[Any], duplicates: bool) -> bool:
    element = atom.element
    scalars = element.scalars
    if not atom.associative:
        return all(item.__class__ in scalars or fits(element, item, duplicates=duplicates) for item in value)
    if atom.keys:
        keys, defaults, inner = atom.keys, atom.defaults, element.map
        if inner is None:
            return not value
        for item in value:
            if item.__class__ is not dict:
                return False
            if not defaults and keys[0] not in item and not any(key in item for key in keys):
                return False
            if not _map_fits(inner, item, duplicates):
                return False
    elif not all(item.__class__ in scalars for item in value):
        return False
    return duplicates or len(value) < 2 or len({atom.element_of(item) for item in value}) == len(value)


def problems(atom: Atom, value: Any, *, duplicates: bool = False) -> list[Problem]:
    """Everything that does not fit. With `duplicates`, list items with the same key are tolerated."""
    shape = atom.shape(value) or atom.first
    if shape == "map":
        assert atom.map is not None
        return _map_problems(atom.map, value, duplicates)
    if shape == "list":
        assert atom.list is not None
        return _list_problems(atom.list, value, duplicates)
    return _scalar_problems(atom.scalar, value)


def _map_problems(atom: MapAtom, value: Any, duplicates: bool) -> list[Problem]:
    if value is None:
        return []
    if value.__class__ is not dict:
        return [("", f"expected map, got &{{{govalue.plain(value)}}}")]
    found: list[Problem] = []
    for name, item in value.items():
        inner = atom.fields.get(name, atom.element)
        if inner is None:
            return [*found, (f".{name}", "field not declared in schema")]
        found += [(f".{name}{path}", text) for path, text in problems(inner, item, duplicates=duplicates)]
    return found


def _list_problems(atom: ListAtom, value: Any, duplicates: bool) -> list[Problem]:
    if value is None:
        return []
    if value.__class__ is not list:
        return [("", f"expected list, got &{{{govalue.plain(value)}}}")]
    found: list[Problem] = []
    seen: set[str] = set()
    for position, item in enumerate(value):
        where = f"[{position}]"
        if atom.associative:
            try:
                element = atom.element_of(item)
            except ValueError as error:
                return [*found, ("", f"element {position}: {error}")]
            where = _shown(atom, item)
            if element in seen and not duplicates:
                found.append(("", f"duplicate entries for key {where}"))
            seen.add(element)
        found += [(f"{where}{path}", text) for path, text in problems(atom.element, item, duplicates=duplicates)]
    return found


def _shown(atom: ListAtom, item: Any) -> str:
    """The item's path element with its numbers as they stand in the value; a stored one has floats only."""
    if not atom.keys:
        return f"[={path_element.show(item)}]"
    values = [(key, item.get(key, atom.defaults.get(key))) for key in atom.keys if key in item or key in atom.defaults]
    return "[" + ",".join(f"{key}={path_element.show(value)}" for key, value in values) + "]"


def _scalar_problems(scalar: str, value: Any) -> list[Problem]:
    kind = value.__class__
    if value is None:
        return []
    if scalar == NUMERIC:
        if kind is int or kind is float:
            return []
        return [("", f"expected numeric (int or float), got {govalue.type_name(value)}")]
    if scalar == STRING:
        if kind is str:
            return []
        return [("", f"expected string, got &value.valueUnstructured{{Value:{govalue.literal(value)}}}")]
    if scalar == BOOLEAN:
        return [] if kind is bool else [("", f"expected boolean, got &{{{govalue.plain(value)}}}")]
    if kind is dict or kind is list:
        return [("", f"expected any scalar, got &{{{govalue.plain(value)}}}")]
    return []


def message(found: list[Problem]) -> str:
    """The problems as one text."""
    lines = [f"{path}: {text}" if path else text for path, text in found]
    return lines[0] if len(lines) == 1 else "\n".join(["errors:", *(f"  {line}" for line in lines)])
