"""Text functions: searching, cutting, joining, quoting. Positions count characters."""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.cel.access import shown
from nagaya.apiserver.cel.budget import Budget
from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.values import CelError, NoSuchOverloadError
from nagaya.apiserver.meta import gostring

_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# What Go takes for white space.
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000"
)
_QUOTED: Final = str.maketrans(gostring.ESCAPES)


def _both(text: Any, part: Any) -> None:
    if not isinstance(text, str) or not isinstance(part, str):
        raise NoSuchOverloadError


def _contains(text: Any, part: Any) -> bool:
    _both(text, part)
    return part in text


def _starts_with(text: Any, part: Any) -> bool:
    _both(text, part)
    return bool(text.startswith(part))


def _ends_with(text: Any, part: Any) -> bool:
    _both(text, part)
    return bool(text.endswith(part))


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise CelError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    return text.find(part, offset) if offset < len(text) else -1


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        if not part:
            return len(text)
        return text.rfind(part)
    if not part:
        return offset
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def _replace(budget: Budget, text: str, old: str, new: str, limit: int = -1) -> str:
    times = text.count(old) if old else len(text) + 1
    times = times if limit < 0 else min(times, limit)
    budget.spend((len(text) + times * len(new)) // 10)
    return text.replace(old, new, limit)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise CelError(f"index out of range: {start}")
        return text[start:]
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise CelError(f"index out of range: {index}")
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_SPACE)


def _lower(text: str) -> str:
    return text.translate(_LOWER)


def _upper(text: str) -> str:
    return text.translate(_UPPER)


def _join(budget: Budget, parts: list[Any], separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise CelError(f"join: invalid input: {shown(part)}")
    budget.spend((sum(map(len, parts)) + len(parts) * len(separator)) // 10)
    return separator.join(parts)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


FUNCTIONS: Final = (
    function("contains", overload("string.(string) -> bool", _contains), lenient=True),
    function("startsWith", overload("string.(string) -> bool", _starts_with), lenient=True),
    function("endsWith", overload("string.(string) -> bool", _ends_with), lenient=True),
    function("charAt", overload("string.(int) -> string", _char_at)),
    function(
        "indexOf",
        overload("string.(string) -> int", _index_of),
        overload("string.(string, int) -> int", _index_of),
    ),
    function(
        "lastIndexOf",
        overload("string.(string) -> int", _last_index_of),
        overload("string.(string, int) -> int", _last_index_of),
    ),
    function("lowerAscii", overload("string.() -> string", _lower)),
    function("upperAscii", overload("string.() -> string", _upper)),
    function(
        "replace",
        overload("string.(string, string) -> string", _replace),
        overload("string.(string, string, int) -> string", _replace),
        charged=True,
    ),
    function(
        "split",
        overload("string.(string) -> list(string)", _split),
        overload("string.(string, int) -> list(string)", _split),
    ),
    function(
        "substring",
        overload("string.(int) -> string", _substring),
        overload("string.(int, int) -> string", _substring),
    ),
    function("trim", overload("string.() -> string", _trim)),
    function(
        "join",
        overload("list(string).() -> string", _join),
        overload("list(string).(string) -> string", _join),
        charged=True,
    ),
    function("strings.quote", overload("(string) -> string", _quote)),
)
