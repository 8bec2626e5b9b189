"""What is wrong with an expression, and where, printed with the line and a caret below it.

Offsets count characters. An `Issues` collects findings in any order and prints them by place, as users of the real
server know it: `ERROR: <input>:1:6: undeclared reference to 'x' (in container '')` and the snippet.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

NOWHERE: Final = -1
"""The offset of a finding about the expression as a whole."""

_MAX_REPORTED: Final = 100
_MAX_SNIPPET: Final = 16384


class Issue(NamedTuple):
    """One finding at an offset."""

    offset: int
    message: str


class CompileError(Exception):
    """An expression that cannot be used; the text is the rendered list of findings."""


class Issues:
    """The findings about one expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Issue] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def report(self, offset: int, message: str) -> None:
        """Note a finding."""
        self.found.append(Issue(offset, message))

    def __str__(self) -> str:
        starts = _line_starts(self.text)
        kept = self.found[:_MAX_REPORTED]
        placed = sorted(((*_place(starts, issue.offset), issue.message) for issue in kept), key=lambda each: each[:2])
        lines = [_render(self.text, starts, line, column, message) for line, column, message in placed]
        if len(self.found) > _MAX_REPORTED:
            lines.append(f"{len(self.found) - _MAX_REPORTED} more errors were truncated")
        return "\n".join(lines)


def _line_starts(text: str) -> list[int]:
    return [0] + [index + 1 for index, char in enumerate(text) if char == "\n"]


def _place(starts: list[int], offset: int) -> tuple[int, int]:
    if offset == NOWHERE:
        return -1, -1
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1]


def _render(text: str, starts: list[int], line: int, column: int, message: str) -> str:
    head = f"ERROR: <input>:{line}:{column + 1}: {message}"
    if line < 1 or not text:
        return head
    end = starts[line] - 1 if line < len(starts) else len(text)
    snippet = text[starts[line - 1] : end].replace("\t", " ")
    if len(snippet.encode()) > _MAX_SNIPPET:
        return head
    # Characters outside ASCII take two columns in most fonts, hence the full-width dot and caret.
    dots = "".join("．" if char > "\x7f" else "." for char in snippet[:column])
    caret = "＾" if snippet[column : column + 1] > "\x7f" else "^"
    return f"{head}\n | {snippet}\n | {dots}{caret}"
