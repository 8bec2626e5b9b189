"""Warnings as HTTP headers: `299 - "text"`, readable by kubectl and by nothing that could be confused by them."""

from __future__ import annotations

from collections.abc import Iterable

_TOTAL = 4 * 1024  # beyond this, texts are cut; some clients refuse answers with more than a few KiB of headers
_CUT = 256


def headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """The headers for a request's warnings."""
    texts = [_clean(each) for each in warnings]
    if sum(map(len, texts)) > _TOTAL:
        texts = [each[:_CUT] for each in texts]
    made, size = [], 0
    for each in texts:
        size += len(each)
        if size > _TOTAL:
            break
        quoted = each.replace("\\", "\\\\").replace('"', '\\"')
        made.append(("Warning", f'299 - "{quoted}"'))
    return made


def _clean(text: str) -> str:
    """Without what must not stand in a header."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split(" "))
