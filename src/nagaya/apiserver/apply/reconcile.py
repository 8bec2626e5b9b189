"""Adapts recorded sets of fields to a schema that has changed since they were recorded.

Where a container has become atomic, whoever owned something in it now owns it as a whole. The other way round
nothing has to be done: who owned the whole keeps owning the container.
"""

from __future__ import annotations

from functools import lru_cache

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.atoms import Atom
from nagaya.apiserver.apply.fieldset import FieldSet, Node


def recorded(atom: Atom, text: bytes) -> FieldSet:
    """The set with this text as the schema of today would record it; the set itself if that is the same."""
    known = len(text) <= fieldset.LONGEST_REMEMBERED
    return _recorded(atom, text) if known else _recorded.__wrapped__(atom, text)


@lru_cache(maxsize=2048)
def _recorded(atom: Atom, text: bytes) -> FieldSet:
    return _reconciled(atom, fieldset.parse(text).fields)


def _reconciled(atom: Atom, fields: FieldSet) -> FieldSet:
    result = fields
    known = atom.map.fields if atom.map is not None else {}
    element = atom.map.element if atom.map is not None else atom.list.element if atom.list is not None else None
    for key, node in fields.items():
        if not node:
            continue
        inner = known.get(key[2:], element)
        changed = _node(inner, node) if inner is not None else node
        if changed is not node:
            if result is fields:
                result = dict(fields)
            result[key] = changed
    return result


def _node(atom: Atom, node: Node) -> Node:
    """A node that has something below it."""
    if atom.map is not None:
        if atom.map.undescribed:
            return node
        return {} if atom.map.atomic else _reconciled(atom, node)
    if atom.scalar or atom.list is None:
        return node
    return _reconciled(atom, node) if atom.list.associative else {}
