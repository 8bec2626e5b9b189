"""What a schema fills in when an object leaves it out.

A default stands in for an absent member, and for a null that the schema does not allow. Filled-in values are filled in
further by the schema below them. Schemas are compiled once; parts of a schema without defaults cost nothing, and an
object that needs none is given back as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import orjson

from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta.status import OBJECT_LIMIT
from nagaya.apiserver.schema.types import MISSING

Fill = Callable[[Any], Any]
Make = Callable[[], Any]


_NAME: Final = 8  # the least that a default's name and place take


class TooManyDefaults(ValueError):
    """An object that would become larger by its defaults than any that can be stored."""


class _Room:
    """The bytes of defaults that may still be filled into the object at hand."""

    def __init__(self) -> None:
        self.left = OBJECT_LIMIT

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise TooManyDefaults


class _Absent(NamedTuple):
    """A default for a member: when it applies and how a fresh one is made."""

    name: str
    nullable: bool
    make: Make


def compile_schema(schema: Schema) -> Fill | None:
    """A function that gives a value with all defaults filled in, None if there are none. It never changes its
    argument. It raises TooManyDefaults before they take much memory: an item of two bytes may have large defaults,
    which have defaults in turn.
    """
    room = _Room()
    fill = _compile(schema, room)
    if fill is None:
        return None
    found = fill

    def fill_within_room(value: Any) -> Any:
        room.left = OBJECT_LIMIT
        return found(value)

    return fill_within_room


def _compile(schema: Schema, room: _Room) -> Fill | None:
    absent = [
        _Absent(name, each.nullable, _maker(each, room))
        for name, each in sorted(schema.properties.items())
        if each.default is not MISSING
    ]
    members = {name: below for name, each in schema.properties.items() if (below := _compile(each, room)) is not None}
    rest = _replacing_null(schema.values, room) if schema.values is not None else None
    known = frozenset(schema.properties)
    items = _replacing_null(schema.items, room) if schema.items is not None else None
    if not absent and not members and rest is None and items is None:
        return None

    def fill(value: Any) -> Any:
        if type(value) is dict:
            return _fill_object(value, absent, members, rest, known)
        if type(value) is list and items is not None:
            return _fill_list(value, items)
        return value

    return fill


def _maker(schema: Schema, room: _Room) -> Make:
    below = _compile(schema, room)
    value: Any = MISSING
    size = 0

    def make() -> Any:
        nonlocal value, size
        if value is MISSING:
            value = schema.default if below is None else below(schema.default)
            size = len(orjson.dumps(value)) + _NAME
        room.take(size)
        return _fresh(value)

    return make


def _fresh(value: Any) -> Any:
    """A copy that shares nothing that can be changed."""
    if type(value) is dict:
        return {name: _fresh(each) for name, each in value.items()}
    return [_fresh(each) for each in value] if type(value) is list else value


def _replacing_null(schema: Schema, room: _Room) -> Fill | None:
    """Filling for entries and items, which are never absent but may be null."""
    below = _compile(schema, room)
    if schema.default is MISSING or schema.nullable:
        return below
    make = _maker(schema, room)

    def fill(value: Any) -> Any:
        if value is None:
            return make()
        return value if below is None else below(value)

    return fill


def _fill_object(
    value: dict[str, Any], absent: list[_Absent], members: dict[str, Fill], rest: Fill | None, known: frozenset[str]
) -> dict[str, Any]:
    result = value
    for name, nullable, make in absent:
        if name not in value or (value[name] is None and not nullable):
            if result is value:
                result = dict(value)
            result[name] = make()
    for name, fill in members.items():
        if name in value and value[name] is not None:
            filled = fill(value[name])
            if filled is not value[name]:
                if result is value:
                    result = dict(value)
                result[name] = filled
    if rest is not None:
        for name, each in value.items():
            if name not in known:
                filled = rest(each)
                if filled is not each:
                    if result is value:
                        result = dict(value)
                    result[name] = filled
    return result


def _fill_list(value: list[Any], fill: Fill) -> list[Any]:
    result = value
    for position, each in enumerate(value):
        filled = fill(each)
        if filled is not each:
            if result is value:
                result = list(value)
            result[position] = filled
    return result
