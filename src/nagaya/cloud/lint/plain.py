"""Plain values read without trust: manifests come from people, and what has the wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

Object = Mapping[str, object]

_NOTHING: Final[Object] = {}


def mapping(value: object) -> Object:
    """A mapping, or an empty one."""
    return value if isinstance(value, Mapping) else _NOTHING


def sequence(value: object) -> Sequence[object]:
    """A list, or an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def mappings(value: object) -> Iterator[Object]:
    """The mappings of a list."""
    return (each for each in sequence(value) if isinstance(each, Mapping))


def texts(value: object) -> list[str]:
    """The members of a list that are texts; a number is taken for its text."""
    return [text(each) for each in sequence(value) if isinstance(each, (str, int, float))]


def text(value: object) -> str:
    """A text, or an empty one. A number or a truth value is taken for its text, as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ""


def number(value: object) -> int | None:
    """A whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def at(value: object, *path: str) -> object:
    """What is at a path of member names, None if there is nothing."""
    for name in path:
        value = mapping(value).get(name)
    return value


def labels(value: object) -> dict[str, str]:
    """A mapping from texts to texts, such as labels and node selectors."""
    return {name: text(each) for name, each in mapping(value).items()}
