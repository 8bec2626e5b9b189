"""Regular expressions: `matches`, `find` and `findAll`. The engine is RE2, which takes linear time on any input."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import re2

from nagaya.apiserver.cel.budget import Budget
from nagaya.apiserver.cel.declarations import function, overload
from nagaya.apiserver.cel.values import CelError, NoSuchOverloadError
from nagaya.apiserver.crd import patterns


@lru_cache(maxsize=1024)
def _searcher(pattern: str) -> Any:
    # Reading it once more is the price of having Go's words for what is wrong with it.
    patterns.compiled(pattern)
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return re2.compile(pattern.encode(), options)


def _charge(budget: Budget, text: str, pattern: str) -> None:
    budget.spend((len(text) // 10 + 1) * (len(pattern) // 4 + 1))


def _matches(budget: Budget, text: Any, pattern: Any) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise NoSuchOverloadError
    _charge(budget, text, pattern)
    try:
        return patterns.compiled(pattern)(text)
    except ValueError as error:
        raise CelError(str(error)) from None


def _occurrences(budget: Budget, text: Any, pattern: Any) -> Iterator[str]:
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise NoSuchOverloadError
    _charge(budget, text, pattern)
    try:
        expression = _searcher(pattern)
    except ValueError as error:
        raise CelError(f"Illegal regex: {error}") from None
    data = text.encode()
    position, previous_end = 0, -1
    while position <= len(data):
        found = expression.search(data, position)
        if found is None:
            return
        start, end = found.span()
        # An empty match right behind another match is not one.
        if start != end or start != previous_end:
            yield data[start:end].decode()
        previous_end = end
        position = end if end > start else _next_character(data, end)


def _next_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


def _find(budget: Budget, text: str, pattern: str) -> str:
    return next(_occurrences(budget, text, pattern), "")


def _find_all(budget: Budget, text: str, pattern: str, limit: Any = -1) -> list[str]:
    if type(limit) is not int:
        raise NoSuchOverloadError
    found: list[str] = []
    for each in _occurrences(budget, text, pattern):
        if len(found) == limit:
            break
        found.append(each)
    return found


FUNCTIONS: Final = (
    function(
        "matches",
        overload("(string, string) -> bool", _matches),
        overload("string.(string) -> bool", _matches),
        lenient=True,
        charged=True,
    ),
    function("find", overload("string.(string) -> string", _find), lenient=True, charged=True),
    function(
        "findAll",
        overload("string.(string) -> list(string)", _find_all),
        overload("string.(string, int) -> list(string)", _find_all),
        lenient=True,
        charged=True,
    ),
)
