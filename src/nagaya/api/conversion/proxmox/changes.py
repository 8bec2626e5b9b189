"""Carries a change over: what somebody changed in a view of an object is changed in the object itself.

A view shows less than there is. `base` is the view of the object as it was, `new` is the view as somebody left it; the
object becomes what it was, with that difference. If nothing was changed in the view, nothing changes in the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ABSENT: Final = object()
_NAMES: Final = ("name", "machineType", "zone", "net", "disk", "type")


def carried(base: Any, new: Any, onto: Any) -> Any:
    """The object with the change that leads from one view to the other."""
    if new == base:
        return onto
    if isinstance(base, Mapping) and isinstance(new, Mapping) and isinstance(onto, Mapping):
        return _object(base, new, onto)
    named = _named(base), _named(new), _named(onto)
    return list(_object(*named).values()) if all(each is not None for each in named) else new


def _object(base: Any, new: Any, onto: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in dict.fromkeys((*onto, *new)):
        before, after, there = (each.get(name, _ABSENT) for each in (base, new, onto))
        made = there if after == before else carried(before, after, there)
        if made is not _ABSENT:
            result[name] = made
    return result


def _named(value: Any) -> dict[str, Any] | None:
    """The items of a list by their names, None if they have none."""
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        return None
    for key in _NAMES:
        names = [each.get(key) for each in value]
        if all(isinstance(each, str) for each in names) and len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return None
