"""Which fields of an object a write changes: for kinds that allow some changes only, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nagaya.api.admission.content import Content

Path = tuple[str, ...]


def changed_paths(new: Any, old: Any, path: Path = ()) -> Iterator[Path]:
    """The paths at which two objects differ, as a merge patch between them would name them."""
    if not isinstance(new, Mapping):
        if new != old:
            yield path
        return
    before: Content = old if isinstance(old, Mapping) else {}
    if old is not None and not isinstance(old, Mapping):
        yield path
        return
    for name in sorted(set(new) | set(before)):
        if new.get(name) is None:
            if before.get(name) is not None:
                yield (*path, name)
        else:
            yield from changed_paths(new[name], before.get(name), (*path, name))


def allowed(path: Path, patterns: tuple[Path, ...]) -> bool:
    """Whether a path is one of those that may change. A `*` at the end of a pattern stands for all below."""
    return any(_matches(path, pattern) for pattern in patterns)


def _matches(path: Path, pattern: Path) -> bool:
    if pattern[-1] != "*":
        return path == pattern
    return len(path) >= len(pattern) and path[: len(pattern) - 1] == pattern[:-1]


def described(new: Any, old: Any) -> str:
    """The changed fields in one text."""
    return ", ".join(".".join(path) for path in changed_paths(new, old))
