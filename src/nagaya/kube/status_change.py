"""What has to be sent so that an object's status says what a controller wants it to say.

Several controllers write to the status of one object, each its own fields and its own types of conditions. A controller
compares and sends only those. Server-side apply then removes what it no longer names, unless somebody else claims it
too; that remainder is found afterwards.

Of what changes, some is news that others act on, and the rest are details: numbers that count up, messages that say
what is waited for. Details that are about to change again need not be written each time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.kube.patches import same

_ABSENT: Final = object()
_CONDITIONS: Final = "conditions"


@dataclass(frozen=True, slots=True)
class News:
    """What of a status others act on."""

    fields: Collection[str] = ()
    """Fields that are news whenever they change: what has come into being, or is needed after a crash."""
    turns: Collection[str] = ()
    """Fields that are news when they change from one value to another. Their first value is none."""
    conditions: Collection[str] = ()
    """Types of conditions that are news when they turn to True or away from it. What is said first is none."""


def is_news(present: Mapping[str, Any], change: Mapping[str, Any], news: News) -> bool:
    """Whether a change of a status holds anything that others act on."""
    for field in news.fields:
        path = field.split(".")
        if not same(_at(present, path), _at(change, path)):
            return True
    for field in news.turns:
        path = field.split(".")
        before = _at(present, path)
        if before is not _ABSENT and not same(before, _at(change, path)):
            return True
    earlier, later = _owned(present, news.conditions), _owned(change, news.conditions)
    return any(_holds(told) != _holds(later.get(type)) for type, told in earlier.items())


def status_change(
    present: Mapping[str, Any], wanted: Mapping[str, Any], conditions: Collection[str], fields: Collection[str]
) -> dict[str, Any] | None:
    """The status to apply: all owned fields and conditions that shall be there. None if they are there and no other.

    A condition whose status is the same keeps its transition time, whatever the wanted one says.
    """
    change: dict[str, Any] = {}
    differs = False
    for field in fields:
        path = field.split(".")
        value = _at(wanted, path)
        if not same(value, _at(present, path)):
            differs = True
        if value is not _ABSENT:
            _put(change, path, value)
    before = _owned(present, conditions)
    after = _owned(wanted, conditions)
    for type, condition in after.items():
        old = before.get(type)
        if old is not None and old.get("status") == condition.get("status"):
            after[type] = {**condition, "lastTransitionTime": old.get("lastTransitionTime")}
    differs = differs or not same(before, after)
    if not differs:
        return None
    if after:
        change[_CONDITIONS] = [*after.values()]
    return change


def leftovers(
    present: Mapping[str, Any], wanted: Mapping[str, Any], conditions: Collection[str], fields: Collection[str]
) -> dict[str, Any] | None:
    """The merge patch that removes what shall not be there and still is. None if there is nothing.

    Conditions are a list, which the patch holds as a whole: it must be sent for the state it was made of.
    """
    patch: dict[str, Any] = {}
    for field in fields:
        path = field.split(".")
        if _at(wanted, path) is _ABSENT and _at(present, path) is not _ABSENT:
            _put(patch, path, None)
    extra = _owned(present, conditions).keys() - _owned(wanted, conditions).keys()
    if extra:
        patch[_CONDITIONS] = [each for each in present[_CONDITIONS] if each.get("type") not in extra]
    return patch or None


def _owned(status: Mapping[str, Any], types: Collection[str]) -> dict[str, Mapping[str, Any]]:
    listed = status.get(_CONDITIONS) or ()
    return {
        each["type"]: each
        for each in listed
        if (each.__class__ is dict or isinstance(each, Mapping)) and each.get("type") in types
    }


def _holds(condition: Mapping[str, Any] | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def _at(content: Mapping[str, Any], path: list[str]) -> Any:
    value: Any = content
    for name in path:
        if value.__class__ is not dict and not isinstance(value, Mapping):
            return _ABSENT
        value = value.get(name, _ABSENT)
    return _ABSENT if value is None else value


def _put(content: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        content = content.setdefault(name, {})
    content[path[-1]] = value
