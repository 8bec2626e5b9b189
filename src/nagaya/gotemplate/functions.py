"""Go's built-in functions of templates.

`and` and `or` are not here: they do not look at all of their arguments, so whoever evaluates those does them.
"""

from __future__ import annotations

import html as markup
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote_plus

from nagaya.gotemplate.errors import CallError
from nagaya.gotemplate.formatting import printf
from nagaya.gotemplate.values import MISSING, is_list, shown, truth, type_name

Function = Callable[..., Any]
SHORT_CIRCUITS: Final = ("and", "or")


def _index(item: Any, *indexes: Any) -> Any:
    if item is None or item is MISSING:
        raise CallError("index of untyped nil")
    for index in indexes:
        if item is None or item is MISSING:
            raise CallError("index of nil pointer")
        if isinstance(item, Mapping):
            if _nil(index):
                raise CallError("value is nil; should be of type string")
            if not isinstance(index, str):
                raise CallError(f"value has type {type_name(index)}; should be string")
            item = item.get(index)
        elif is_list(item) or isinstance(item, str):
            found = item.encode() if isinstance(item, str) else item
            item = found[_position(index, len(found))]
        else:
            raise CallError(f"can't index item of type {type_name(item)}")
    return item


def _position(index: Any, length: int, *, last: bool = False) -> int:
    if index is None or index is MISSING:
        raise CallError("cannot index slice/array with nil")
    if not isinstance(index, int) or isinstance(index, bool):
        raise CallError(f"cannot index slice/array with type {type_name(index)}")
    if index < 0 or index > length or (index == length and not last):
        raise CallError(f"index out of range: {index}")
    return index


def _slice(item: Any, *indexes: Any) -> Any:
    if item is None or item is MISSING:
        raise CallError("slice of untyped nil")
    if len(indexes) > 3:
        raise CallError(f"too many slice indexes: {len(indexes)}")
    if not is_list(item) and not isinstance(item, str):
        raise CallError(f"can't slice item of type {type_name(item)}")
    if isinstance(item, str) and len(indexes) == 3:
        raise CallError("cannot 3-index slice a string")
    found = item.encode() if isinstance(item, str) else item
    places = [_position(each, len(found), last=True) for each in indexes]
    places += [0, len(found)][len(places) :]
    for one, other in itertools.pairwise(places):
        if one > other:
            raise CallError(f"invalid slice index: {one} > {other}")
    part = found[places[0] : places[1]]
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else part


def _length(item: Any) -> int:
    if item is None or item is MISSING:
        raise CallError("len of nil pointer")
    if isinstance(item, str):
        return len(item.encode())
    if isinstance(item, Mapping) or is_list(item):
        return len(item)
    raise CallError(f"len of type {type_name(item)}")


def _not(item: Any) -> bool:
    return not truth(item)


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "string"
    return ""


def _nil(value: Any) -> bool:
    return value is None or value is MISSING


def _equal(first: Any, *others: Any) -> bool:
    if not others:
        raise CallError("missing argument for comparison")
    for other in others:
        if _kind(first) != _kind(other):
            if not _nil(first) and not _nil(other):
                raise CallError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
        elif _nil(first) or _nil(other):
            if _nil(first) == _nil(other):
                return True
        elif not _kind(first):
            raise CallError(f"non-comparable type {shown(other)}: {type_name(other)}")
        elif first == other:
            return True
    return False


def _unequal(first: Any, other: Any) -> bool:
    return not _equal(first, other)


def _less(first: Any, other: Any) -> bool:
    if not _kind(first) or not _kind(other):
        raise CallError("invalid type for comparison")
    if _kind(first) != _kind(other):
        raise CallError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
    if isinstance(first, bool):
        raise CallError("invalid type for comparison")
    return bool(first.encode() < other.encode() if isinstance(first, str) else first < other)


def _at_most(first: Any, other: Any) -> bool:
    return _less(first, other) or _equal(first, other)


def _more(first: Any, other: Any) -> bool:
    return not _at_most(first, other)


def _at_least(first: Any, other: Any) -> bool:
    return not _less(first, other)


def _print(*values: Any) -> str:
    """With a space between two that are no texts."""
    out: list[str] = []
    for number, value in enumerate(values):
        if number and not isinstance(value, str) and not isinstance(values[number - 1], str):
            out.append(" ")
        out.append(shown(value))
    return "".join(out)


def _println(*values: Any) -> str:
    return " ".join(map(shown, values)) + "\n"


def _printf(pattern: str, *values: Any) -> str:
    return printf(pattern, values)


def _html(*values: Any) -> str:
    escaped = markup.escape(_joined(values), quote=True)
    return escaped.replace("&quot;", "&#34;").replace("&#x27;", "&#39;").replace("\0", "\ufffd")


_SCRIPT: Final = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "<": "\\u003C",
    ">": "\\u003E",
    "&": "\\u0026",
    "=": "\\u003D",
}


def _script(*values: Any) -> str:
    out = []
    for each in _joined(values):
        if each in _SCRIPT:
            out.append(_SCRIPT[each])
        elif each < " " or not (each.isprintable() or each == " "):
            out.append(f"\\u{ord(each):04X}")
        else:
            out.append(each)
    return "".join(out)


def _query(*values: Any) -> str:
    return quote_plus(_joined(values), safe="-_.~").replace("%7E", "~")


def _joined(values: Sequence[Any]) -> str:
    return _print(*(str(MISSING) if _nil(each) else each for each in values))


BUILT_IN: Final[Mapping[str, Function]] = {
    "eq": _equal,
    "ge": _at_least,
    "gt": _more,
    "html": _html,
    "index": _index,
    "js": _script,
    "le": _at_most,
    "len": _length,
    "lt": _less,
    "ne": _unequal,
    "not": _not,
    "print": _print,
    "printf": _printf,
    "println": _println,
    "slice": _slice,
    "urlquery": _query,
}
