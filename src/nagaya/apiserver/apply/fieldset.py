"""Sets of fields, kept as the JSON tree that `managedFields` stores (`fieldsV1`).

A set is a dictionary from path elements to what lies below them: `{"f:data": {".": {}, "f:x": {}}}` holds `.data`
and `.data.x`. A node is a member of the set when it is empty or has a `.`; a node that only leads to others is
neither. There is never a node below which nothing is a member. Because the stored form is the working form, reading
and writing cost nothing, and a set that an operation leaves as it is stays the very same object.

Sets are values: no function changes its arguments, and results share what did not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from nagaya.apiserver.apply import path_element
from nagaya.wire.remembered import remember_short

FieldSet = dict[str, Any]
"""`{}` is the empty set at the top, and a member without members below it anywhere else."""

Node = dict[str, Any]


def of(*paths: Iterable[str]) -> FieldSet:
    """The set of these fields, each given by the names that lead to it."""
    return union_all([of_path([f"f:{name}" for name in path]) for path in paths])


def of_path(elements: Iterable[str]) -> FieldSet:
    """The set of one field, given by its path elements."""
    node: Node = {}
    for element in reversed(list(elements)):
        node = {element: node}
    return node


class Parsed(NamedTuple):
    """A set that somebody else wrote, and whether it was written in the canonical way."""

    fields: FieldSet
    canonical: bool


LONGEST_REMEMBERED = 16 * 1024
"""Bytes of a text of which something is remembered: clients can write any number of texts of a megabyte."""


@remember_short(2048, LONGEST_REMEMBERED)
def parse(text: bytes) -> Parsed:
    """Read a set from its JSON text. Path elements of unknown kinds are dropped.

    The objects of a kind have much the same managers with much the same fields, so most texts have been read before.
    Raises ValueError when the text is no set.
    """
    value = orjson.loads(text)
    if value is None:
        return Parsed({}, False)
    if value.__class__ is not dict:
        raise ValueError("ReadMapCB: expect { or n")
    if "." not in value and _is_canonical(value):
        return Parsed(value, True)
    return Parsed({key: node for key, node in _rewritten(value).items() if key != "."}, False)


def _is_canonical(node: Any) -> bool:
    for key, below in node.items():
        if below.__class__ is not dict:
            return False
        if key == ".":
            if below:
                return False
            continue
        if not key.startswith("f:") and (len(key) < 2 or key[1] != ":" or path_element.canonical(key) != key):
            return False
        if below and not ((len(below) > 1 or "." not in below) and _is_canonical(below)):
            return False
    return True


def _rewritten(node: Any) -> Node:
    result: Node = {}
    for key, below in node.items():
        if key == ".":
            result[key] = {}
            continue
        element = path_element.canonical(key)
        if element is None:
            continue
        if below is not None and below.__class__ is not dict:
            raise ValueError("ReadMapCB: expect { or n")
        inner = _rewritten(below or {})
        children = {name: child for name, child in inner.items() if name != "."}
        member = not children or "." in inner
        if element in result:  # written twice in different words: the later children count, either makes a member
            earlier = result[element]
            children = children or {name: child for name, child in earlier.items() if name != "."}
            member = member or is_member(earlier)
        result[element] = ({".": {}, **children} if member else children) if children else {}
    return result


def is_member(node: Node) -> bool:
    """Whether the field a node stands for is in the set itself, not only fields below it."""
    return not node or "." in node


def as_member(node: Node) -> Node:
    """The node with its own field in the set."""
    return node if not node or "." in node else {".": {}, **node}


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its elements in the order in which the real server writes them, as a copy all the way down."""
    keys = sorted(fields)
    if len(keys) > 1 and keys[-1][0] != "f":
        keys.sort(key=path_element.order)
    result: FieldSet = {}
    for key in keys:
        node = fields[key]
        result[key] = ordered(node) if node else {}
    return result


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """All fields that are in one of the sets."""
    if not right:
        return left
    if not left:
        return right
    result = dict(left)
    for key, node in right.items():
        other = result.get(key)
        if other is None:
            result[key] = node
        elif other is not node:
            result[key] = union_nodes(other, node)
    return result


def union_all(sets: Sequence[FieldSet]) -> FieldSet:
    """All fields that are in any of the sets, united in pairs: one after the other would copy the result each time."""
    while len(sets) > 1:
        sets = [union(*sets[at : at + 2]) if at + 1 < len(sets) else sets[at] for at in range(0, len(sets), 2)]
    return sets[0] if sets else {}


def union_nodes(left: Node, right: Node) -> Node:
    """What two sets hold at and below the same field."""
    if not left:
        return as_member(right)
    return union(left, right) if right else as_member(left)


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields that are in both sets."""
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            continue
        if not node or not other:
            if is_member(node) and is_member(other):
                result[key] = {}
        elif both := intersection(node, other):
            result[key] = _shortened(both)
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields that are in the left set only. A field that is taken away leaves the ones below it."""
    result = left
    for key in right if len(right) < len(left) else [key for key in left if key in right]:
        node = left.get(key)
        if node is None:
            continue
        other = right[key]
        if not node:
            if not is_member(other):
                continue
            rest = None
        elif not other:
            if "." not in node:
                continue
            rest = {name: child for name, child in node.items() if name != "."}
        else:
            rest = difference(node, other)
            if rest is node:
                continue
        if result is left:
            result = dict(left)
        _leave(result, key, rest)
    return result


def _leave(fields: FieldSet, key: str, rest: Node | None) -> None:
    """Keep of a field what is left of it."""
    if rest:
        fields[key] = _shortened(rest)
    else:
        del fields[key]


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields of the left set that are neither in the right one nor below one of its members."""
    result = left
    for key, other in right.items():
        node = left.get(key)
        if node is None:
            continue
        rest: Node | None = None
        if not is_member(other):
            if not node:
                continue
            rest = recursive_difference(node, other)
            if rest is node:
                continue
        if result is left:
            result = dict(left)
        _leave(result, key, rest)
    return result


def _shortened(node: Node) -> Node:
    """A node that is nothing but a member is written as an empty one."""
    return {} if len(node) == 1 and "." in node else node


def leaves(fields: FieldSet) -> FieldSet:
    """The members that have no members below them."""
    return {key: leaves(node) if node else node for key, node in fields.items() if key != "."}


def has(fields: FieldSet, path: Iterable[str]) -> bool:
    """Whether the field with these path elements is a member."""
    node: Node | None = fields
    for element in path:
        if node is None:
            return False
        node = node.get(element)
    return node is not None and node is not fields and is_member(node)


def paths(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """The members as tuples of path elements: those of a level first, then those below each."""
    yield from _paths((), ordered(fields))


def _paths(prefix: tuple[str, ...], node: Node) -> Iterator[tuple[str, ...]]:
    for key, below in node.items():
        if key != "." and is_member(below):
            yield (*prefix, key)
    for key, below in node.items():
        if below:
            yield from _paths((*prefix, key), below)


def display(path: Iterable[str]) -> str:
    """A path as messages show it, such as `.spec.items[name="a"].v`."""
    return "".join(map(path_element.display, path))
