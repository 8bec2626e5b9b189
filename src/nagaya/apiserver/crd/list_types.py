"""The promises of `x-kubernetes-list-type`: no value twice in a set, no key twice in a map.

Of a value that occurs more than once, the second occurrence is reported. An update may keep duplicates that were there
before; that is decided by whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, invalid

Find = Callable[[Any, Path], list[FieldError]]


def compile_schema(schema: Schema) -> Find | None:
    """A function that finds duplicates anywhere in a value, None if the schema has no sets or maps."""
    members = {
        name: below for name, each in sorted(schema.properties.items()) if (below := compile_schema(each)) is not None
    }
    entries = compile_schema(schema.values) if schema.values is not None else None
    items = compile_schema(schema.items) if schema.items is not None else None
    own = _own_check(schema)
    if not members and entries is None and items is None and own is None:
        return None

    def find(value: Any, path: Path) -> list[FieldError]:
        errors: list[FieldError] = []
        if type(value) is dict:
            if entries is not None:
                for name, each in value.items():
                    errors += entries(each, path.key(name))
            for name, below in members.items():
                if name in value:
                    errors += below(value[name], path.child(name))
        elif type(value) is list:
            if own is not None and (len(value) > 1 or schema.list_type == "map"):
                errors += own(value, path)
            if items is not None:
                for position, each in enumerate(value):
                    errors += items(each, path.index(position))
        return errors

    return find


def _own_check(schema: Schema) -> Callable[[list[Any], Path], list[FieldError]] | None:
    if schema.list_type == "set":
        return _check_set
    if schema.list_type == "map":
        keys = list(schema.map_keys)
        return lambda value, path: _check_map(value, keys, path)
    return None


def _check_set(value: list[Any], path: Path) -> list[FieldError]:
    return [duplicate(path.index(position), value[position]) for position in _repeated(value)]


def _check_map(value: list[Any], keys: list[str], path: Path) -> list[FieldError]:
    found = []
    for position, each in enumerate(value):
        if each is not None and type(each) is not dict:
            return [invalid(path.index(position), each, "must be an object for an array of list-type map")]
        found.append({key: each[key] for key in keys if key in each} if each else {})
    if len(keys) == 1:
        # Most maps have one key, and it is a short text.
        key = keys[0]
        texts = [each.get(key) for each in found]
        if len(set(filter(_is_text, texts))) == len(texts):
            return []
    return [duplicate(path.index(position), found[position]) for position in _repeated(found)]


def _is_text(value: Any) -> bool:
    return type(value) is str


def _repeated(values: list[Any]) -> Iterator[int]:
    """The position of the second occurrence of every value that occurs more than once."""
    seen: dict[tuple[type, Any], int] = {}
    for position, value in enumerate(values):
        kind = type(value)
        # Two values are the same if Go holds them in the same type: 1, 1.0 and true are three.
        key = (kind, orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if kind in (dict, list) else value)
        times = seen[key] = seen.get(key, 0) + 1
        if times == 2:
            yield position
