"""Runs JSONPath over objects: finds what a printer column shows.

A path is compiled once into functions over lists of values. Keys that are missing are no error and give nothing; a path
that does not fit the data (an index into a map, a comparison of a number with a text) has no answer at all. Only the
first result of a path is ever shown, but all of it is evaluated, since a mismatch further on takes the answer away.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from nagaya.apiserver.schema.types import MISSING
from nagaya.apiserver.table.jsonpath_parser import (
    FieldNode,
    FilterNode,
    JsonPathError,
    LiteralNode,
    Node,
    Path,
    RecursiveNode,
    SliceNode,
    UnionNode,
    WildcardNode,
    parse,
)

__all__ = ["JsonPathError", "Lookup", "compile_path"]

_KEPT: Final = 1024
"""Paths of columns, which are few, and the same in every server of a process."""
Values = list[Any]
Step = Callable[[Values], Values]
Lookup = Callable[[Any], Any]


class _NoAnswer(Exception):
    """The path does not fit the data. Holds what had been found, since "exists" only asks whether that is anything."""

    def __init__(self, found: Values) -> None:
        super().__init__()
        self.found = found


@lru_cache(_KEPT)
def compile_path(text: str) -> Lookup:
    """A function that gives the first value at a path, or MISSING. Raises JsonPathError if the path cannot be read."""
    parts = parse(text)
    names = _field_names(parts[0])
    if names is not None and len(parts) == 1:
        return _members(names)
    first, *others = [_compiled(part) for part in parts]

    def lookup(data: Any) -> Any:
        try:
            found = first([data])
            for step in others:
                step([data])
        except (_NoAnswer, RecursionError):
            return MISSING
        return found[0] if found else MISSING

    return lookup


def _field_names(path: Path) -> list[str] | None:
    names = [node.name for node in path if isinstance(node, FieldNode)]
    return names if len(names) == len(path) else None


def _members(names: list[str]) -> Lookup:
    """The common case: a chain of members."""

    def lookup(data: Any) -> Any:
        for name in names:
            if type(data) is not dict or name not in data:
                return MISSING
            data = data[name]
        return data

    return lookup


def _compiled(path: Path) -> Step:
    steps = [_step(node) for node in path]
    if len(steps) == 1:
        return steps[0]

    def run(values: Values) -> Values:
        for step in steps:
            values = step(values)
        return values

    return run


def _step(node: Node) -> Step:
    match node:
        case FieldNode(name):
            return lambda values: [value[name] for value in values if type(value) is dict and name in value]
        case LiteralNode(literal):
            return lambda values: [literal] if isinstance(literal, str) else [literal] * len(values)
        case SliceNode():
            return _slice(node)
        case WildcardNode():
            return lambda values: [part for value in values for part in _parts(value)]
        case RecursiveNode():
            return _descend
        case UnionNode(branches):
            steps = [_compiled(branch) for branch in branches]
            return lambda values: [found for step in steps for found in step(values)]
        case FilterNode():
            return _filter(node)
        case _:
            return _refuse


def _refuse(values: Values) -> Values:
    raise _NoAnswer(values)


class _Byte(int):
    """One byte of a text: Go walks those too. It can be shown but is no number."""


def _parts(value: Any) -> Values:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    return [_Byte(byte) for byte in value.encode()] if isinstance(value, str) else []


def _descend(values: Values) -> Values:
    found: Values = []
    for value in values:
        parts = _parts(value)
        if parts:
            found.append(value)
            found += _descend(parts)
    return found


def _slice(node: SliceNode) -> Step:
    def step(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise _NoAnswer(values)
            size = len(value)
            start, end = node.start or 0, size if node.end is None else node.end
            if start < 0:
                start += size
            if end < 0 or (end == 0 and node.single):
                end += size
            if start == end:
                return found
            if not 0 <= start < size or not 0 <= end <= size or start > end:
                raise _NoAnswer(values)
            if node.step is not None and node.step <= 0:
                raise _NoAnswer(values)
            found += value[start : end : node.step or 1]
        return found

    return step


def _less(left: Any, right: Any) -> bool:
    if isinstance(left, bool):
        raise _NoAnswer([])
    return bool(left < right)


_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": _less,
    "<=": lambda left, right: _less(left, right) or left == right,
    ">": lambda left, right: not (_less(left, right) or left == right),
    ">=": lambda left, right: not _less(left, right),
}
_COMPARABLE: Final = frozenset({str, int, float, bool})


def _filter(node: FilterNode) -> Step:
    if node.operator == "exists":
        return _existing(_compiled(node.left))
    compare = _COMPARISONS.get(node.operator)
    left, right = _one(node.left), _one(node.right)

    def step(values: Values) -> Values:
        found: Values = []
        for value in values:
            if not isinstance(value, list):
                raise _NoAnswer(values)
            for item in value:
                one = left(item)
                if one is MISSING:
                    continue
                other = right(item)
                if other is MISSING:
                    continue
                kind = type(one)
                if compare is None or kind is not type(other) or kind not in _COMPARABLE:
                    raise _NoAnswer(found)
                if compare(one, other):
                    found.append(item)
        return found

    return step


def _one(path: Path) -> Lookup:
    """The one value that a side of a comparison has, or MISSING."""
    names = _field_names(path)
    if names is not None:
        return _members(names)
    if len(path) == 1 and isinstance(path[0], LiteralNode):
        literal = path[0].value
        return lambda item: literal
    step = _compiled(path)

    def lookup(item: Any) -> Any:
        found = step([item])
        if len(found) > 1:
            raise _NoAnswer([item])
        return found[0] if found else MISSING

    return lookup


def _existing(left: Step) -> Step:
    def holds(item: Any) -> bool:
        try:
            return bool(left([item]))
        except _NoAnswer as mismatch:
            return bool(mismatch.found)

    def step(values: Values) -> Values:
        found: Values = []
        for value in values:
            if not isinstance(value, list):
                raise _NoAnswer(values)
            found += [item for item in value if holds(item)]
        return found

    return step
