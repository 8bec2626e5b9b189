"""What Go makes of an object in which fields are given more than once.

Its decoder fills the same struct again: what the first occurrence set stays, unless the second one sets it too. Maps
gain entries, lists are overwritten item by item and cut to the new length. Where nothing is known about the type the
last one counts.
"""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.builtins.gotypes import GoList, GoMap, GoScalar, GoStruct
from nagaya.apiserver.meta.jsonscan import Members, exact
from nagaya.apiserver.schema.types import Type


def merge_repeated(kind: Type, value: Any) -> Any:
    """An object as it was scanned, with each field once. Numbers stay `Literal`."""
    return _onto(kind, None, value)


def _onto(kind: Type, old: Any, new: Any, *, pointer: bool = False) -> Any:
    """Decode a value over an earlier one of the same place."""
    if new is None:
        return old if _keeps_value_on_null(kind, pointer) else None
    if isinstance(kind, GoStruct) and new.__class__ is Members:
        result = old if old.__class__ is dict else {}  # changed in place: it may be repeated very often
        for name, item in new:
            field = kind.fields.get(name)
            if field is None:
                result[name] = exact(item)
            else:
                result[name] = _onto(field.type, result.get(name), item, pointer=field.pointer)
        return result
    if isinstance(kind, GoMap) and new.__class__ is Members:
        result = old if old.__class__ is dict else {}
        for name, item in new:
            result[name] = _onto(kind.element, None, item)
        return result
    if isinstance(kind, GoList) and new.__class__ is list:
        earlier = old if old.__class__ is list else []
        return [
            _onto(kind.element, earlier[index] if index < len(earlier) else None, item)
            for index, item in enumerate(new)
        ]
    return exact(new)


def _keeps_value_on_null(kind: Type, pointer: bool) -> bool:
    """Null empties pointers, maps, lists, dates and quantities, and is ignored by everything else."""
    if isinstance(kind, GoScalar):
        return not pointer and kind.format not in {"date-time", "micro-time", "quantity"}
    return not pointer and not isinstance(kind, (GoMap, GoList))
