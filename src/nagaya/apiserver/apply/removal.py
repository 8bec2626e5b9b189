"""Takes fields out of a value, or keeps only them.

What loses all its parts becomes null rather than empty: the caller decides with a wider set whether it goes as well.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.apply.atoms import Atom, ListAtom, MapAtom
from nagaya.apiserver.apply.fieldset import FieldSet, is_member


def remove(atom: Atom, value: Any, fields: FieldSet) -> Any:
    """The value without these fields."""
    if not fields:
        return value
    return _walk(atom, value, fields, keep=False)


def extract(atom: Atom, value: Any, fields: FieldSet) -> Any:
    """The value with nothing but these fields."""
    return _walk(atom, value, fields, keep=True)


def _walk(atom: Atom | None, value: Any, fields: FieldSet, *, keep: bool) -> Any:
    if atom is None:
        return None
    shape = atom.shape(value) or atom.first
    if shape == "scalar":
        return value
    if shape == "map":
        if value.__class__ is not dict:
            return None
        assert atom.map is not None
        if not value or atom.map.atomic:
            return value if keep else None
        return _map(atom.map, value, fields, keep) or None
    if value.__class__ is not list:
        return None
    assert atom.list is not None
    if not value or not atom.list.associative:
        return value if keep else None
    return _list(atom.list, value, fields, keep) or None


def _map(atom: MapAtom, value: dict[str, Any], fields: FieldSet, keep: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, item in value.items():
        inner = atom.fields.get(name, atom.element)
        node = fields.get(f"f:{name}")
        if node is None:
            if not keep:
                result[name] = item
        elif is_member(node):
            if keep:  # what is below is looked up from here, not from the field: that is how it is defined
                result[name] = _walk(inner, item, fields, keep=True)
        else:
            result[name] = _walk(inner, item, node, keep=keep)
    return result


def _list(atom: ListAtom, value: list[Any], fields: FieldSet, keep: bool) -> list[Any]:
    result: list[Any] = []
    for item in value:
        node = fields.get(atom.element_of(item))
        if node is None:
            if not keep:
                result.append(item)
        elif not keep and is_member(node):
            continue
        else:
            below = {key: each for key, each in node.items() if key != "."}
            result.append(_walk(atom.element, item, below, keep=keep) if below else item)
    return result
