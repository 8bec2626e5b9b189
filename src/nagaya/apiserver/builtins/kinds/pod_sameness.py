"""Whether two values of a built-in type say the same, however they are written."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.stored import as_stored
from nagaya.apiserver.meta.status import JsonObject


def same(struct: str, new: JsonObject | None, old: JsonObject | None) -> bool:
    """Whether a value of a struct such as `core/v1.PodSpec` is what it was: an empty list is as good as none."""
    if new == old:
        return True
    if new is None or old is None:
        return False
    kind = facts.struct_of(struct)
    return bool(_without_empty(as_stored(kind, new)) == _without_empty(as_stored(kind, old)))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(each) for key, each in value.items() if each is not None and each != []}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value
