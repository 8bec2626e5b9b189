"""A memory for short texts: what clients choose must not decide how much memory a cache takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

LONGEST: Final = 256
"""Characters or bytes of a text that is remembered."""
S = TypeVar("S", str, bytes)
T = TypeVar("T")


def remember_short(maxsize: int, longest: int = LONGEST) -> Callable[[Callable[[S], T]], Callable[[S], T]]:
    """Remember the last results of a function of one text, unless the text is long."""

    def decorate(function: Callable[[S], T]) -> Callable[[S], T]:
        known = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: S) -> T:
            return known(text) if len(text) <= longest else function(text)

        return call

    return decorate
