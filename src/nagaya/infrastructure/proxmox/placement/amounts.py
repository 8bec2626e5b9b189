"""Amounts in sentences for people."""

from __future__ import annotations

from typing import Final

_GIB: Final = 1024**3


def gib(size: int) -> str:
    """Bytes as GiB; nothing where there is less than nothing. Rounded down, so that too little never looks enough."""
    tenths = max(0, size) * 10 // _GIB
    return f"{tenths // 10}.{tenths % 10} GiB"


def lacking(have: int, need: int) -> str:
    """What is free and what is needed, if it is too little. Exact where rounding would make both the same."""
    if gib(have) == gib(need):
        return f"{max(0, have)} bytes free, {need} bytes needed"
    return f"{gib(have)} free, {gib(need)} needed"
