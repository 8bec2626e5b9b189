"""Regular expressions in schemas: RE2, as the real server's, so that no pattern can take exponential time.

Both servers know the same syntax, but say differently what is wrong with a pattern; errors are given in Go's words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import re2

Matches = Callable[[str], bool]

# What a compiled pattern may take of memory. The real server's only limit is the size of the request.
_MAX_MEMORY: Final = 8 << 20
# Longer texts are not remembered: clients choose them.
_SHORT_TEXT: Final = 128

_GO_WORDS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    return options


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Matches:
    """Whether a text has the pattern anywhere in it. Raises ValueError, in Go's words, if this is not a pattern."""
    try:
        search = re2.compile(pattern, _options()).search
    except re2.error as error:
        raise ValueError(_in_go_words(error.args[0])) from error

    def matches(text: str) -> bool:
        # Searching bytes spares the library the translation of every offset.
        return search(text.encode(errors="surrogatepass")) is not None

    def remembered(text: str) -> bool:
        return _matches_short(matches, text) if len(text) <= _SHORT_TEXT else matches(text)

    return remembered


@lru_cache(maxsize=8192)
def _matches_short(matches: Matches, text: str) -> bool:
    """What is matched against patterns are mostly the same few names, types and reasons, with every write again."""
    return matches(text)


def _in_go_words(message: bytes | str) -> str:
    text = message.decode(errors="replace") if isinstance(message, bytes) else message
    code, _, part = text.partition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(code, code)}: `{part}`"
