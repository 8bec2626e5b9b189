"""Fields that a write through some endpoint has no say in, and therefore does not own.

The main endpoint of an object with a status subresource ignores `status`; `/status` ignores `metadata` and `spec`; some
subresources write a few fields and ignore everything else. A filter reduces a set of fields to the ones that count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nagaya.apiserver.apply.fieldset import FieldSet, Node, is_member, recursive_difference

Filter = Callable[[FieldSet], FieldSet]

ANY = "*"
"""In a path for `only`: whatever the step is."""


def without(fields: FieldSet) -> Filter:
    """Ignore these fields and everything below them."""

    def rest(written: FieldSet) -> FieldSet:
        return recursive_difference(written, fields)

    return rest


def only(*paths: tuple[str, ...]) -> Filter:
    """Ignore everything but these fields, given by the names that lead to them, and what is below them."""
    wanted: dict[str, Any] = {}
    for path in paths:
        node = wanted
        for name in path[:-1]:
            node = node.setdefault(name if name == ANY else f"f:{name}", {})
        node[path[-1] if path[-1] == ANY else f"f:{path[-1]}"] = None

    def rest(written: FieldSet) -> FieldSet:
        return _matching(written, wanted)

    return rest


def _matching(fields: FieldSet, wanted: dict[str, Any]) -> FieldSet:
    result: FieldSet = {}
    for key, node in fields.items():
        if key == ".":
            continue
        pattern = ANY if ANY in wanted else key
        if pattern not in wanted:
            continue
        inner = wanted[pattern]
        if inner is None or not node:
            result[key] = node
            continue
        children: Node = _matching(node, inner)
        if is_member(node):
            result[key] = {".": {}, **children} if children else {}
        elif children:
            result[key] = children
    return result
