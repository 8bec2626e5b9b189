"""Sizes as PVE writes them: a number and perhaps K, M, G or T, each 1024 times the one before."""

from __future__ import annotations

import re

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)([KMGT])?$")
_UNITS = "KMGT"


def parse_size(text: str) -> int | None:
    """The bytes that are meant, or None if it is no size."""
    matched = _SIZE.match(text)
    if matched is None:
        return None
    number, unit = matched.groups()
    factor = 1024 ** (_UNITS.index(unit) + 1) if unit else 1
    return int(float(number) * factor) if "." in number else int(number) * factor


def format_size(size: int) -> str:
    """In the largest unit that holds it without a remainder."""
    unit = ""
    for larger in _UNITS:
        if size % 1024:
            break
        size, unit = size // 1024, larger
    return f"{size}{unit}"
