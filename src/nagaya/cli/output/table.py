"""A table as a value: what is in it, which words stand out, and how it looks with and without a terminal.

The last column may have several lines. Without a terminal nothing is cut or folded: a pipe has no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from nagaya.foreign_text import cut, escape, escape_line

if TYPE_CHECKING:
    from rich.table import Table as RichTable

GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and how it stands out: a style of rich's."""

    text: str = ""
    style: str = ""
    lead: str = ""
    """What stands before the text on its first line, and does not stand out: the branches of a tree."""
    trail: str = ""
    """What stands in place of it on further lines of the row."""

    @property
    def whole(self) -> str:
        """With its lead."""
        return self.lead + self.text


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header."""

    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, *cells: Cell | str) -> None:
        """Add a row. Only its last cell keeps line breaks."""
        row = [Cell(each) if isinstance(each, str) else each for each in cells]
        shown = [escape_line(each.text) for each in row[:-1]] + [escape(cut(each.text)) for each in row[-1:]]
        self.rows.append(tuple(replace(each, text=text) for each, text in zip(row, shown, strict=True)))

    def plain(self) -> str:
        """For pipes: columns as wide as their widest cell, two spaces apart."""
        lines = [list(self.header)]
        for row in self.rows:
            last = row[-1].text.split("\n") if row else [""]
            lines.append([*(each.whole for each in row[:-1]), last[0]])
            lines += [[row[0].trail, *([""] * (len(row) - 2)), more] for more in last[1:]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "".join(f"{_line(line, widths)}\n" for line in lines)

    @property
    def width_before_last(self) -> int:
        """Columns that all but the last take, with their gaps."""
        lines = [self.header[:-1], *(tuple(cell.whole for cell in row[:-1]) for row in self.rows)]
        return sum(max(map(len, column)) + len(GAP) for column in zip(*lines, strict=True))

    @property
    def width(self) -> int:
        """Columns that the widest line takes."""
        return max(map(len, self.plain().splitlines()))

    def within(self, width: int, spare: Sequence[str]) -> Table:
        """A table of so many columns of text, if that can be: without some of the `spare` ones, the first before the
        others. Half a name is of no use to anybody."""
        found = self
        for title in spare:
            if found.width <= width:
                break
            if title in found.header:
                at = found.header.index(title)
                rows = [(*row[:at], *row[at + 1 :]) for row in found.rows]
                found = Table((*found.header[:at], *found.header[at + 1 :]), rows)
        return found

    def rich(self) -> RichTable:
        """For terminals."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for number, name in enumerate(self.header):
            last = number == len(self.header) - 1
            table.add_column(name, no_wrap=not last, overflow="fold" if last else "ellipsis")
        for row in self.rows:
            table.add_row(*(Text.assemble((each.lead, "bright_black"), (each.text, each.style)) for each in row))
        return table


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
