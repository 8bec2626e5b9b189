"""Whether two values of a built-in type say the same, however they are written."""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.stored import as_stored
from nagaya.apiserver.meta.quantity import parse
from nagaya.apiserver.meta.status import JsonObject

_AMOUNTS: Final = frozenset({"limits", "requests", "overhead"})
_AMOUNT: Final = frozenset({"sizeLimit", "divisor"})


def same(struct: str, new: JsonObject | None, old: JsonObject | None) -> bool:
    """Whether a value of a struct such as `core/v1.PodSpec` is what it was: an empty list is as good as none."""
    if new == old:
        return True
    if new is None or old is None:
        return False
    kind = facts.struct_of(struct)
    return bool(_comparable(as_stored(kind, new)) == _comparable(as_stored(kind, old)))


def _comparable(value: Any, name: str = "") -> Any:
    """A value without what is empty, and with amounts as amounts: `1Gi` is `1024Mi`."""
    if isinstance(value, dict):
        if name in _AMOUNTS:
            return {key: parse(each) if isinstance(each, str) else each for key, each in value.items()}
        return {key: _comparable(each, key) for key, each in value.items() if each is not None and each != []}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return parse(value) if name in _AMOUNT and isinstance(value, str) else value
