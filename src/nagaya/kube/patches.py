"""The three ways to change an object, the smallest merge patch between two states of one, and what is in another.

Nothing is ever written back whole: typed objects have lost the fields that Nagaya does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
KUBECTL: Final = "kubectl"
"""The manager of `kubectl apply --server-side`: what is applied in its name, people go on applying with kubectl."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A JSON merge patch (RFC 7386): null removes, lists are replaced whole.

    With a `resource_version` it is refused with Conflict if the object has changed since: needed whenever a list is in
    the patch that others write to.
    """

    content: Mapping[str, Any]
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """A JSON patch (RFC 6902). A `test` that fails answers Invalid."""

    operations: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply: the fields in the content become the manager's, those it no longer names are removed.

    Without a manager it is the client's. `force` takes fields over from other managers instead of raising Conflict.
    """

    content: Mapping[str, Any]
    manager: str = ""
    force: bool = True


Patch = Merge | JsonPatch | Apply


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """The merge patch that turns one into the other, None if they are equal.

    A null inside `after` cannot be expressed by a merge patch: it is taken for an absent field.
    """
    patch: dict[str, Any] = {}
    for name in before:
        if before[name] is not None and after.get(name) is None:
            patch[name] = None
    for name, wanted in after.items():
        present = before.get(name)
        if wanted is None:
            continue
        if isinstance(wanted, Mapping):
            # Where there is no object yet the whole one is the patch, even an empty one.
            inner = difference(present, wanted) if isinstance(present, Mapping) else _without_nulls(wanted)
            if inner is not None:
                patch[name] = inner
        elif not same(present, wanted):
            patch[name] = wanted
    return patch or None


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; Python's own answer takes true for 1."""
    if one.__class__ is str:  # nearly all are, and asking what else they might be takes longer than the answer
        return bool(one == other)
    if one.__class__ is dict and other.__class__ is dict:
        return one.keys() == other.keys() and all(map(same, one.values(), map(other.__getitem__, one)))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def contains(present: Any, wanted: Any) -> bool:
    """Whether all of a JSON value is in another: members of objects, and entries of lists in any order."""
    if isinstance(wanted, Mapping):
        return isinstance(present, Mapping) and all(
            name in present and contains(present[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(present, list | tuple) and all(
            any(contains(entry, value) for entry in present) for value in wanted
        )
    return same(present, wanted)


def _without_nulls(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_nulls(value) if isinstance(value, Mapping) else value
        for name, value in content.items()
        if value is not None
    }
