"""Objects as Go shows its internal types in messages: `{"Key":"a","Value":"","Effect":"NoSchedule"}`.

The real server validates internal types, whose fields have other names, another order, and are all written, also when
nobody has set them. A few messages show such a value or the difference between two. A shape lists the fields of a type
as `GoName=jsonName:kind`, where the kind is `s` (text), `i` (number), `b` (truth), `p` (a pointer, list or map, null
when missing), `{...}` (a struct), `*{...}` (a pointer to one) or `[...]` (a list of them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import zip_longest
from typing import Any, Final

from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Where
from nagaya.apiserver.meta.status import JsonObject

_TOKEN: Final = re.compile(r"\s*(?:(\w+)=([\w-]+):(\*?[\[{]|[sibp])|([\]}]))")
_MARKUP: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_ZEROS: Final[Mapping[str, Any]] = {"s": "", "i": 0, "b": False, "p": None}


class Shape:
    """The fields of an internal Go type: Go's name, JSON's name, kind, and the shape of what is inside."""

    __slots__ = ("fields",)

    def __init__(self) -> None:
        self.fields: list[tuple[str, str, str, Shape | None]] = []

    def of(self, value: JsonObject) -> JsonObject:
        """The value as Go would write it."""
        result: JsonObject = {}
        for go, name, kind, inner in self.fields:
            item = value.get(name)
            if inner is None:
                result[go] = _ZEROS[kind] if item is None else _sorted(item)
            elif kind == "[":
                result[go] = None if not item else [inner.of(each) for each in item]
            elif item is None:
                result[go] = None if kind == "*{" else inner.of({})
            else:
                result[go] = inner.of(item)
        return result


@cache
def shape(text: str) -> Shape:
    """Read a shape."""
    root = Shape()
    stack = [root]
    for go, name, kind, closing in _TOKEN.findall(text):
        if closing:
            stack.pop()
            continue
        inner = None if kind in _ZEROS else Shape()
        stack[-1].fields.append((go, name, kind, inner))
        if inner is not None:
            stack.append(inner)
    assert stack == [root], f"unbalanced: {text}"
    return root


def invalid_shape(where: Where, kind: Shape, value: JsonObject, detail: str) -> FieldError:
    """A malformed value, shown as Go shows it."""
    return FieldError(Cause.INVALID, str(where), OMITTED, f"{compact(kind.of(value))}: {detail}")


def duplicate_shape(where: Where, kind: Shape, value: JsonObject, detail: str = "") -> FieldError:
    """A value that is there twice, shown as Go shows it."""
    shown = compact(kind.of(value))
    return FieldError(Cause.DUPLICATE, str(where), OMITTED, f"{shown}: {detail}" if detail else shown)


def compact(value: Any) -> str:
    """A value as Go's `json.Marshal` writes it, its members in the order in which they are."""
    return _escaped(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _escaped(text: str) -> str:
    """Go writes what browsers could take for markup in another way."""
    return text.translate(_MARKUP)


_COMPARED: Final = 2000  # lines, those of fifty containers: the time for all changes is the square of the lines


def difference(kind: Shape, old: JsonObject, new: JsonObject) -> str:
    """What changed between two values, as lines with three of context; of very long ones the first change."""
    import difflib

    before, after = (_lines(kind.of(each)) for each in (old, new))
    if max(len(before), len(after)) <= _COMPARED:
        return "".join(list(difflib.unified_diff(before, after, lineterm="\n"))[2:])
    pairs = enumerate(zip_longest(before, after, fillvalue="\n"), start=1)
    changed = (f"@@ -{at} +{at} @@\n-{one}+{other}" for at, (one, other) in pairs if one != other)
    return next((f"{first}further changes are not shown\n" for first in changed), "")


def _lines(value: Any) -> list[str]:
    return [f"{line}\n" for line in _escaped(json.dumps(value, ensure_ascii=False, indent=1)).split("\n")]


def _sorted(value: Any) -> Any:
    """Maps have their keys in order in Go's JSON."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
