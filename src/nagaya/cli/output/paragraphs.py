"""Sentences below something: indented, in lines as wide as the terminal. A pipe has no width, so nothing is folded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from nagaya.cli.output.tree import paragraph
from nagaya.foreign_text import cut, escape

if TYPE_CHECKING:
    from nagaya.cli.output.screen import Screen

LEAST: Final = 30
"""Columns that text gets however narrow it is."""


def indented(text: str, indent: int, screen: Screen) -> str:
    """Text that ends its own lines, each with so many spaces before it."""
    wide = max(LEAST, screen.console.width - indent) if screen.terminal else sys.maxsize
    return "".join(f"{' ' * indent}{line}\n" for line in paragraph(escape(cut(text)), wide).split("\n"))
