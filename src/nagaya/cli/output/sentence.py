"""A sentence behind a word or a number, folded at the terminal's width below itself. A pipe has no width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

Line = tuple[str, str]
"""A line, and how it stands out: a style of rich's."""
_LEAST: Final = 40
"""Columns that text gets however narrow it is."""


def sentence(lead: str, text: str, width: int | None, style: str = "") -> Iterator[Line]:
    """The lines of a sentence; without a width it is one."""
    room = None if width is None else max(width - len(lead), _LEAST)
    lines = [text] if room is None else textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    for at, line in enumerate(lines):
        yield f"{lead if at == 0 else ' ' * len(lead)}{line}", style
