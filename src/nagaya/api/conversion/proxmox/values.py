"""Reading and choosing fields of objects in either version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Content = Mapping[str, Any]


def chosen(content: Content, names: Iterable[str]) -> dict[str, Any]:
    """Those of some fields that are there."""
    return {name: content[name] for name in names if content.get(name) is not None}


def mapping(value: Any) -> Content:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> Sequence[Content]:
    """The objects in the value, if it is a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def filled(**fields: Any) -> dict[str, Any]:
    """Those fields that have something in them."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", 0, [], {})}
