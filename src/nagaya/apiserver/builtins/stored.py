"""What keeping an object changes about it.

The real server stores built-in objects as protobuf, which knows no difference between an empty list and none, and no
null among the bytes and lists in a map. What it answers after a write has been through that form; `as_stored` does the
same to an object. Custom resource definitions and API services are stored as JSON and stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from nagaya.apiserver.builtins.gotypes import GoList, GoMap, GoScalar, GoStruct
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import Field, Omit, Struct, Type

Change = Callable[[Any], Any]
"""Takes a value that is not null and returns it as it is after storing: the same value if nothing changes."""

_KEPT_AS_JSON: Final = ("apiextensions/", "apiregistration/")


def as_stored(struct: Struct, obj: JsonObject) -> JsonObject:
    """The object as it comes back from the store. It is shared, not copied, where nothing changes."""
    assert isinstance(struct, GoStruct), f"not a built-in type: {struct.name}"
    if struct.key.startswith(_KEPT_AS_JSON):
        return obj
    change = _struct_change(struct)
    return obj if change is None else change(obj)


def _change(kind: Type) -> Change | None:
    """What happens to values of a type; None if nothing ever does."""
    match kind:
        case GoStruct():
            return _struct_change(kind)
        case GoList():
            return _list_change(_change(kind.element))
        case GoMap() if isinstance(kind.element, GoScalar) and kind.element.format == "byte":
            return _without_nulls(lambda: "")
        case GoMap() if isinstance(kind.element, GoList):
            return _without_nulls(list)
        case GoMap():
            return _map_change(_change(kind.element))
    return None


@cache
def _struct_change(struct: GoStruct) -> Change | None:
    emptied = tuple(name for name, field in struct.fields.items() if _is_emptied(field))
    changes = tuple((name, change) for name, field in struct.fields.items() if (change := _change(field.type)))
    if not emptied and not changes:
        return None

    def change_struct(value: Any) -> Any:
        result = value
        for name in emptied:
            if name in value and not value[name] and value[name] is not None:
                result = {**result, name: None}
        for name, change in changes:
            old = value.get(name)
            if old is not None:
                new = change(old)
                if new is not old:
                    result = {**result, name: new or None} if name in emptied else {**result, name: new}
        return result

    return change_struct


def _is_emptied(field: Field) -> bool:
    """Whether the field shows a difference between an empty list and none."""
    return field.omit is Omit.NEVER and isinstance(field.type, (GoList, GoMap))


def _list_change(change: Change | None) -> Change | None:
    if change is None:
        return None

    def change_list(value: Any) -> Any:
        changed = [item if item is None else change(item) for item in value]
        return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value

    return change_list


def _map_change(change: Change | None) -> Change | None:
    if change is None:
        return None

    def change_map(value: Any) -> Any:
        changed = {key: item if item is None else change(item) for key, item in value.items()}
        return changed if any(changed[key] is not item for key, item in value.items()) else value

    return change_map


def _without_nulls(empty: Callable[[], Any]) -> Change:
    def change_map(value: Any) -> Any:
        if None in value.values():
            return {key: empty() if item is None else item for key, item in value.items()}
        return value

    return change_map
