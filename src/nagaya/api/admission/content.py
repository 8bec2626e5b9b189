"""Reading and changing objects of which nothing is known yet but that they are JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Content = Mapping[str, Any]

_NOTHING: Final[Content] = {}


def at(content: Content, *path: str) -> Any:
    """The value at a path, None if there is none."""
    value: Any = content
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def mapping(content: Content, *path: str) -> Content:
    """The object at a path, an empty one if there is none."""
    value = at(content, *path)
    return value if isinstance(value, Mapping) else _NOTHING


def text(content: Content, *path: str) -> str:
    """The text at a path, an empty one if there is none."""
    value = at(content, *path)
    return value if isinstance(value, str) else ""


def items(content: Content, *path: str) -> Sequence[Content]:
    """The objects in the list at a path."""
    value = at(content, *path)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []


def texts(content: Content, *path: str) -> Sequence[str]:
    """The texts in the list at a path."""
    value = at(content, *path)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def number(content: Content, *path: str) -> int | None:
    """The whole number at a path, None if there is none."""
    value = at(content, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def put(content: Content, value: Any, *path: str) -> Content:
    """The object with a value at a path. What leads there is made if it is missing.

    If something on the way is there but is no object, nothing is changed: the schema will refuse it.
    """
    name, *rest = path
    if not rest:
        return {**content, name: value}
    inner = content.get(name)
    if inner is None:
        inner = _NOTHING
    return {**content, name: put(inner, value, *rest)} if isinstance(inner, Mapping) else content


def put_if_missing(content: Content, value: Any, *path: str) -> Content:
    """The object with a value at a path that had none."""
    return put(content, value, *path) if at(content, *path) is None else content
