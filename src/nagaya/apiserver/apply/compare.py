"""What changed between two objects, as sets of fields.

Every tracked write starts here, so the common case, that most of the object is equal, is decided by comparing values as
a whole. Something that is there on one side only counts with everything in it, containers included.

The newer object must be known to fit its type. What differs in the older one is checked on the way, which spares a look
at the rest of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nagaya.apiserver.apply.atoms import Atom, ListAtom, MapAtom
from nagaya.apiserver.apply.equality import same
from nagaya.apiserver.apply.fieldset import FieldSet, Node, union, union_nodes
from nagaya.apiserver.apply.validation import fits


class Comparison(NamedTuple):
    """The fields that are new, that have another value, and that are gone."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    @property
    def written(self) -> FieldSet:
        """The fields that the newer object gives a value of its own."""
        return union(self.modified, self.added)


def compare(atom: Atom, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Compare two objects of the same type. Raises ValueError if the older one does not fit it."""
    assert atom.map is not None
    return _maps(atom.map, old, new)


Change = tuple[Node | None, Node | None, Node | None]
"""For one field: the nodes to enter under it as added, modified and removed."""


def _maps(atom: MapAtom, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    fields, element = atom.fields, atom.element
    for name, before in old.items():
        if name in new:
            after = new[name]
            if before is after:
                continue
            if before == after:
                kind = before.__class__
                if same(before, after) if kind is dict or kind is list else (kind is bool) is (after.__class__ is bool):
                    continue
            _enter(f"f:{name}", _change(fields.get(name, element), before, after), added, modified, removed)
        else:
            removed[f"f:{name}"] = _gone(fields.get(name, element), before)
    if len(new) != len(old) - len(removed):
        for name, after in new.items():
            if name not in old:
                added[f"f:{name}"] = whole(fields.get(name, element), after)
    return Comparison(added, modified, removed)


def _enter(key: str, change: Change, added: FieldSet, modified: FieldSet, removed: FieldSet) -> None:
    plus, changed, minus = change
    if plus is not None:
        added[key] = plus
    if changed is not None:
        modified[key] = changed
    if minus is not None:
        removed[key] = minus


def _change(atom: Atom | None, before: Any, after: Any) -> Change:
    """The change of a value that is there on both sides, and is known to differ."""
    if atom is None or not _has_place(atom, before):
        raise ValueError("the older object does not fit its type")
    if atom.single:
        return _as(atom, atom.first, before, after)
    shape_before, shape_after = atom.shape(before), atom.shape(after)
    change = _as(atom, shape_after or atom.first, before, after)
    if shape_before == shape_after:
        return change
    # The old shape sees its parts go, the new shape its parts come.
    earlier = _as(atom, shape_before or atom.first, before, after)
    return _both(earlier[0], change[0]), _both(earlier[1], change[1]), _both(earlier[2], change[2])


def _both(left: Node | None, right: Node | None) -> Node | None:
    if left is None or right is None:
        return right if left is None else left
    return union_nodes(left, right)


def _as(atom: Atom, shape: str, before: Any, after: Any) -> Change:
    """The change of a value that is treated as a map, a list or a scalar. What is none of that counts as empty."""
    if shape == "map" and (fields := atom.map) is not None and not fields.atomic:
        old_map: dict[str, Any] = before if before.__class__ is dict else {}
        new_map: dict[str, Any] = after if after.__class__ is dict else {}
        if old_map or new_map:
            added, modified, removed = _maps(fields, old_map, new_map)
            return added or None, modified or None, removed or None
    elif shape == "list" and (items := atom.list) is not None and items.associative:
        old_list: list[Any] = before if before.__class__ is list else []
        new_list: list[Any] = after if after.__class__ is list else []
        if old_list or new_list:
            added, modified, removed = _lists(items, old_list, new_list)
            return added or None, modified or None, removed or None
    if not fits(atom, before):
        raise ValueError("the older object does not fit its type")
    return None, None if same(before, after) else {}, None


def _has_place(atom: Atom, value: Any) -> bool:
    kind = value.__class__
    if kind is dict:
        return atom.map is not None
    if kind is list:
        return atom.list is not None
    return value is None or kind in atom.scalars


def _gone(atom: Atom | None, value: Any) -> Node:
    if atom is None or not fits(atom, value):
        raise ValueError("the older object does not fit its type")
    return whole(atom, value)


def _lists(atom: ListAtom, old: list[Any], new: list[Any]) -> Comparison:
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    before, after = _items(atom, old), _items(atom, new)
    element = atom.element
    for key, lefts in before.items():
        rights = after.get(key)
        if rights is None:
            removed[key] = _gone(element, lefts[0]) if len(lefts) == 1 else {}
        elif len(lefts) == 1 and len(rights) == 1:
            if not same(lefts[0], rights[0]):
                _enter(key, _change(element, lefts[0], rights[0]), added, modified, removed)
        elif len(lefts) > 1 and len(rights) > 1:
            if not same(lefts, rights):
                modified[key] = {}
        elif len(lefts) > 1:  # duplicates are tracked as one; now there is a single item again
            added[key] = whole(element, rights[0])
            removed[key] = {}
        else:
            removed[key] = _gone(element, lefts[0])
            added[key] = {}
    for key, rights in after.items():
        if key not in before:
            added[key] = whole(element, rights[0]) if len(rights) == 1 else {}
    return Comparison(added, modified, removed)


def _items(atom: ListAtom, items: list[Any]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for item in items:
        result.setdefault(atom.element_of(item), []).append(item)
    return result


def whole(atom: Atom | None, value: Any) -> Node:
    """Everything in a value: its fields and items, and the containers that hold them."""
    kind = value.__class__
    if kind is dict:
        inner = atom.map if atom is not None else None
        if inner is None or inner.atomic or not value:
            return {}
        fields, element = inner.fields, inner.element
        result: Node = {".": {}}
        for name, item in value.items():
            below = item.__class__
            if below is dict or below is list:
                result[f"f:{name}"] = whole(fields.get(name, element), item)
            else:
                result[f"f:{name}"] = {}
        return result
    if kind is list and value and atom is not None and atom.list is not None and atom.list.associative:
        items = _items(atom.list, value)
        element = atom.list.element
        return {".": {}, **{key: whole(element, each[0]) if len(each) == 1 else {} for key, each in items.items()}}
    return {}
