"""What a schema does not know is dropped from an object, and reported to whoever asks.

One pass drops unknown fields and nulls that mean nothing (a null where the schema neither allows null nor has a
default). It gives back the very same value if there was nothing to drop, so the usual case costs no copy; unknown
fields are named in a second walk that only happens when something was dropped. Under
`x-kubernetes-preserve-unknown-fields` unknown fields are kept, but what is known there is still cleaned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.schema.types import MISSING

Clean = Callable[[Any], Any]

TYPE_META: Final = frozenset({"apiVersion", "kind", "metadata"})


class _Member(NamedTuple):
    drops_null: bool
    clean: Clean


def compile_schema(schema: Schema | None, *, resource_root: bool) -> Clean:
    """A function that gives a value without what the schema does not know. It never changes its argument.

    At the root of a resource and of an embedded one, kind, apiVersion and metadata are known without being mentioned.
    """
    return _clean(schema, resource_root=resource_root)


def _clean(schema: Schema | None, *, resource_root: bool = False, keeping: bool = False) -> Clean:
    if schema is None:
        return _keep if keeping else _empty
    keeping = keeping or bool(schema.preserve_unknown)
    members = {name: _member(each) for name, each in schema.properties.items()}
    rest = _rest(schema)
    kept = TYPE_META if schema.embedded or resource_root else frozenset()
    item = _clean(schema.items, keeping=keeping)
    clean_object = _object(members, rest, kept, keeping)

    def clean(value: Any) -> Any:
        if type(value) is dict:
            return clean_object(value)
        return _list(value, item) if type(value) is list else value

    return clean


def _rest(schema: Schema) -> _Member | None:
    if schema.additional is None:
        return None
    return _member(schema.values) if schema.values is not None else _Member(False, _empty)


def _member(schema: Schema) -> _Member:
    return _Member(not schema.nullable and schema.default is MISSING, _clean(schema))


def _keep(value: Any) -> Any:
    return value


def _object(
    members: dict[str, _Member], rest: _Member | None, kept: frozenset[str], keeping: bool
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    member_of = members.get

    def clean_object(value: dict[str, Any]) -> dict[str, Any]:
        dropped: list[str] | None = None
        changed: dict[str, Any] | None = None
        for name, each in value.items():
            member = member_of(name, rest)
            if member is None:
                if not keeping and name not in kept:
                    (dropped := dropped or []).append(name)
            elif each is None:
                if member.drops_null:
                    (dropped := dropped or []).append(name)
            elif ((kind := type(each)) is dict or kind is list) and name not in kept:
                cleaned = member.clean(each)
                if cleaned is not each:
                    (changed := changed or {})[name] = cleaned
        if dropped is None and changed is None:
            return value
        result = {**value, **(changed or {})}
        for name in dropped or ():
            del result[name]
        return result

    return clean_object


def _list(value: list[Any], clean: Clean) -> list[Any]:
    result: list[Any] | None = None
    for position, each in enumerate(value):
        if (kind := type(each)) is dict or kind is list:
            cleaned = clean(each)
            if cleaned is not each:
                if result is None:
                    result = list(value)
                result[position] = cleaned
    return value if result is None else result


def _empty(value: Any) -> Any:
    """A value about which nothing is known: objects lose everything, lists keep their shape."""
    if type(value) is dict:
        return value and {}
    if type(value) is not list or not _holds_objects(value):
        return value
    result: list[Any] = []
    pending = [(value, result)]
    while pending:
        source, target = pending.pop()
        for each in source:
            if type(each) is dict:
                target.append({})
            elif type(each) is list:
                inner: list[Any] = []
                target.append(inner)
                pending.append((each, inner))
            else:
                target.append(each)
    return result


def _holds_objects(value: list[Any]) -> bool:
    pending = [value]
    while pending:
        for each in pending.pop():
            if type(each) is dict and each:
                return True
            if type(each) is list:
                pending.append(each)
    return False


def unknown_fields(value: Any, schema: Schema | None, *, resource_root: bool) -> list[str]:
    """The paths of what `compile_schema`'s function drops as unknown, sorted."""
    return sorted(_unknown(value, schema, "", resource_root=resource_root))


def _unknown(
    value: Any, schema: Schema | None, path: str, *, resource_root: bool = False, keeping: bool = False
) -> Iterator[str]:
    if schema is None:
        if not keeping:
            yield from _all_fields(value, path)
        return
    keeping = keeping or bool(schema.preserve_unknown)
    if isinstance(value, list):
        for position, each in enumerate(value):
            yield from _unknown(each, schema.items, f"{path}[{position}]", keeping=keeping)
    if not isinstance(value, dict):
        return
    whole = schema.embedded or resource_root
    for name, each in value.items():
        place = f"{path}.{name}" if path else name
        if whole and name in TYPE_META:
            continue
        if name in schema.properties:
            yield from _unknown(each, schema.properties[name], place)
        elif schema.additional is not None:
            yield from _unknown(each, schema.values, place)
        elif not keeping:
            yield place


def _all_fields(value: Any, path: str) -> Iterator[str]:
    pending = [(value, path)]
    while pending:
        each, place = pending.pop()
        if isinstance(each, dict):
            yield from (f"{place}.{name}" if place else name for name in each)
        elif isinstance(each, list):
            pending += [(item, f"{place}[{position}]") for position, item in enumerate(each)]
