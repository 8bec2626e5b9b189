"""Taking things out of maps, lists and objects: `a.b`, `a[b]`, `a.?b` and `has(a.b)`."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.cel import goformat
from nagaya.apiserver.cel.conversions import to_string
from nagaya.apiserver.cel.operators import find
from nagaya.apiserver.cel.values import (
    NONE,
    NOTHING,
    CelError,
    MapLike,
    Optional,
    Uint,
    go_type,
    type_name,
)


def shown(value: Any) -> str:
    """A value as messages print it."""
    if value is None:
        return "NULL_VALUE"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return goformat.general(value)
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Optional):
        return f"optional({shown(value.value)})" if value.present else "optional.none()"
    try:
        return to_string(value)
    except CelError:
        return type_name(value)


def check_key(key: Any) -> None:
    """Make sure that something can be looked up by this value at all."""
    if not isinstance(key, (str, int, float)):
        raise CelError(f"invalid qualifier type: {go_type(key)}")


def _look_up(container: Any, key: Any, *, testing: bool) -> Any:
    """The value, or `NOTHING` if there is none. What has no members is an error unless one only asks."""
    check_key(key)
    if isinstance(container, (dict, MapLike)):
        return find(container, key)
    if isinstance(container, list):
        position = _position(key)
        return container[position] if 0 <= position < len(container) else NOTHING
    if testing:
        return NOTHING
    raise CelError(f"no such key: {shown(key)}")


def _position(index: Any) -> int:
    kind = type(index)
    if kind is int:
        return int(index)
    if kind is float or kind is Uint:
        if kind is float and not index.is_integer():
            raise CelError(f"unsupported index value {shown(index)} in list")
        return int(index)
    raise CelError(f"unsupported index type '{type_name(index)}' in list")


def select(container: Any, key: Any) -> Any:
    """`container.key` or `container[key]`; absence is an error."""
    kind = type(container)
    if kind is dict and type(key) is str:
        value = container.get(key, NOTHING)
    elif isinstance(container, Optional):
        return select_optional(container, key)
    else:
        value = _look_up(container, key, testing=False)
    if value is NOTHING:
        if isinstance(container, list):
            raise CelError(f"index out of bounds: {shown(key)}")
        raise CelError(f"no such key: {shown(key)}")
    return value


def select_optional(container: Any, key: Any) -> Optional:
    """`container.?key` or `container[?key]`, also when the container is itself an optional."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    value = _look_up(container, key, testing=True)
    return NONE if value is NOTHING else Optional(value)


def has(container: Any, field: str) -> bool:
    """`has(container.field)`."""
    if isinstance(container, Optional):
        return select_optional(container, field).present
    return _look_up(container, field, testing=True) is not NOTHING
