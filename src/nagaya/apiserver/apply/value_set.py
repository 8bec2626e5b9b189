"""The fields that an applied configuration claims, and the named fields a set implies.

A configuration claims its leaves: scalars, atomic and empty containers, nulls. Keys of maps and items of lists are
claimed as well, because they can be removed as a whole; named fields of structs are not, they are merely the way to
their parts.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.apply.atoms import Atom, below
from nagaya.apiserver.apply.fieldset import FieldSet, Node, as_member


def set_of(atom: Atom, value: dict[str, Any]) -> FieldSet:
    """The fields that a configuration claims. List items may have the same key, or have lost theirs to pruning."""
    return _node(atom, value) or {}


_LOST = "?:"
"""Where items stand that can no longer be told apart. No recorded field has such a path."""


def _node(atom: Atom | None, value: Any) -> Node | None:
    """What is claimed at and below a value; None when it is nothing."""
    assert atom is not None, "a configuration fits its type"
    shape = atom.shape(value) or atom.first
    if shape == "map" and (inner := atom.map) is not None and not inner.atomic:
        result: Node = {}
        fields, element = inner.fields, inner.element
        for name, item in (value or {}).items():
            kind = item.__class__
            if (kind is dict or kind is list) and item:
                field = fields.get(name)
                node = _node(field or element, item)
                if field is None:
                    node = as_member(node) if node is not None else {}
                if node is not None:
                    result[f"f:{name}"] = node
            elif kind is not list or name not in fields or _node(fields[name], item) is not None:
                result[f"f:{name}"] = {}
        return result or None
    if shape == "list" and (items := atom.list) is not None and items.associative:
        result = {}
        repeated: set[str] = set()
        for item in value or []:
            try:
                key = items.element_of(item)
            except ValueError:
                key = _LOST
            if key in result:
                repeated.add(key)
            else:
                node = _node(items.element, item)
                result[key] = as_member(node) if node is not None else {}
        return {key: {} if key in repeated else node for key, node in result.items()} or None
    return {}


def with_named_fields(fields: FieldSet, atom: Atom) -> FieldSet:
    """The set together with every named field that leads to a member."""
    result: FieldSet = {}
    for key, node in fields.items():
        if not node:
            result[key] = node
            continue
        inner, named = below(atom, key)
        wider = with_named_fields(node, inner)
        result[key] = as_member(wider) if named else wider
    return result
