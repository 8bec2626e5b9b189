"""Reads the JSON of request bodies: fast when it is in order, and as strictly as Go when it is not.

`parse` is what every JSON body goes through. It accepts what Go's reader accepts (so bytes that are not UTF-8 become
replacement characters, and numbers too long for 64 bits become floats), bounds the nesting, and tells which keys were
given twice: the real server reports them, while Python's readers silently keep the last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import orjson

from nagaya.apiserver.meta import jsonscan
from nagaya.apiserver.meta.jsonscan import MAX_DEPTH, JsonError

__all__ = ["MAX_DEPTH", "JsonError", "parse"]

_RARE_SPACES: Final = (b"\n", b"\t", b"\r")


def parse(body: bytes) -> tuple[Any, list[str]]:
    """Read a body into plain Python values, and the findings about keys given twice (`duplicate field "spec.a"`).

    The findings suppose that nothing is known about the object's type. For built-in kinds `builtins.decode.normalise`
    knows better, given the body: the real server does not look into raw and unknown parts. Raises JsonError, whose text
    is Go's.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _slowly(body)
    keys = _count_keys(value)
    if keys >= 0 and _written_keys(body) == keys:
        return value, []
    if keys >= 0 and not _has_duplicates(body):
        return value, []
    return _slowly(body)


def _slowly(body: bytes) -> tuple[Any, list[str]]:
    scanned = jsonscan.scan(body)
    return jsonscan.plain(scanned), jsonscan.duplicates(scanned)


def _count_keys(value: Any) -> int:
    """How many keys all objects have together; -1 when they are nested too deep."""
    keys = depth = 0
    level = [value] if value.__class__ is dict or value.__class__ is list else []
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return -1
        below: list[Any] = []
        for container in level:
            items: Iterable[Any] = container
            if container.__class__ is dict:
                keys += len(container)
                items = container.values()
            for item in items:
                if item.__class__ is dict or item.__class__ is list:
                    below.append(item)  # noqa: PERF401 (a comprehension is slower for the short lists of objects)
        level = below
    return keys


def _written_keys(body: bytes) -> int:
    """How many keys the body has at most; -1 when only a closer look can tell.

    Every key ends with a quote and a colon. A text may hold the same two characters, so the count may be too high, but
    never too low: when it equals the number of keys that were read, none was given twice.
    """
    if b" :" in body or any(space in body and space + b":" in body for space in _RARE_SPACES):
        return -1
    return body.count(b'":')


def _has_duplicates(body: bytes) -> bool:
    found = False

    def check(members: list[tuple[str, Any]]) -> None:
        nonlocal found
        if len({key for key, _ in members}) != len(members):
            found = True

    # Numbers do not matter here, and Python refuses to convert very long ones.
    json.loads(body, object_pairs_hook=check, parse_int=len, parse_float=len)
    return found
