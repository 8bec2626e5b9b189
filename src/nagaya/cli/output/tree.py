"""A tree of objects on paper: as a table with the columns and branches of `clusterctl describe cluster`, or narrow.

The table is for pipes and wide terminals. Where its messages would be squeezed into a column of a few letters, the
narrow form counts machines in one column, leaves the namespace to the first line, and puts messages below.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from nagaya.cli.output.age import age
from nagaya.cli.output.table import GAP, Cell, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType
    from rich.text import Text

    from nagaya.insight.tree.branch import Branch, Counts, State

HEADER: Final = ("NAME", "REPLICAS", "AVAILABLE", "READY", "UP TO DATE", "STATUS", "REASON", "SINCE", "MESSAGE")
NARROW_HEADER: Final = ("NAME", "READY", "STATUS", "REASON", "SINCE")
SPARE: Final = ("SINCE", "REASON")
"""What is left out before names are cut."""
MESSAGE_WIDTH: Final = 100
LEAST_MESSAGE: Final = 60
"""Columns that messages need beside the others; with less they go below."""
LEAST_NAME: Final = 20
"""Columns that names get however narrow it is."""
_FORK, _LAST, _PIPE, _SPACE = "├─", "└─", "│ ", "  "
_INDENT: Final = " " * 10
_NOTHING: Final = Cell()


@dataclass(frozen=True, slots=True)
class _Line:
    """A branch or a condition, and what stands before it and before what belongs to it."""

    name: Cell
    counts: Counts | None
    state: State | None


def tree_table(root: Branch, now: datetime) -> Table:
    """The whole tree as a table."""
    table = Table(HEADER)
    for line in _lines(root, "", ""):
        counts = line.counts
        numbers = (None,) * 3 if counts is None else (counts.available, counts.ready, counts.up_to_date)
        cells = (_NOTHING,) * 3
        message = _NOTHING
        if line.state is not None:
            cells = _state(line.state, now)
            message = Cell(paragraph(line.state.message, MESSAGE_WIDTH))
        table.add(
            line.name, _replicas(counts), *("" if each is None else str(each) for each in numbers), *cells, message
        )
    return table


def drawn_tree(root: Branch, now: datetime, width: int) -> RenderableType:
    """The whole tree for a terminal of a width."""
    table = tree_table(root, now)
    return table.rich() if fits(table, width) else narrow_tree(root, now, width)


def narrow_tree(root: Branch, now: datetime, width: int) -> Text:
    """The whole tree in so many columns, as far as its names allow."""
    from rich.text import Text

    rows = list(_lines(root, "", "", root.namespace))
    table = Table(NARROW_HEADER)
    for line in rows:
        cells = (_NOTHING,) * 3 if line.state is None else _state(line.state, now)
        table.add(line.name, _ready(line.counts), *cells)
    table = table.within(width, SPARE)
    columns = zip(*table.rows, strict=True)
    widths = [
        max(len(title), *(len(cell.whole) for cell in column))
        for title, column in zip(table.header, columns, strict=True)
    ]
    widths[0] = min(widths[0], max(LEAST_NAME, width - sum(size + len(GAP) for size in widths[1:])))
    header = GAP.join(title.ljust(size) for title, size in zip(table.header, widths, strict=True)).rstrip()
    text = Text().append(header, "bold")
    for row, line in zip(table.rows, rows, strict=True):
        message = _told_below(line.state, with_reason="REASON" not in table.header)
        text.append("\n")
        for cell, size in zip(row, widths, strict=True):
            text.append(cell.lead, "bright_black").append(_cut(cell.text, size - len(cell.lead)), cell.style)
            text.append(" " * max(0, size - len(cell.whole)) + GAP)
        text.rstrip()
        before = row[0].trail + _SPACE
        for each in paragraph(message, max(20, width - len(before))).split("\n") if message else ():
            text.append(f"\n{before}", "bright_black").append(each, "italic")
    return text


def _told_below(state: State | None, *, with_reason: bool) -> str:
    if state is None:
        return ""
    return state.message or (state.reason if with_reason and state.good is False else "")


def fits(table: Table, width: int) -> bool:
    """Whether messages have room beside the other columns, or there are none."""
    if not any(row[-1].text for row in table.rows):
        return table.width <= width
    return table.width_before_last + LEAST_MESSAGE <= width


def _lines(branch: Branch, lead: str, below: str, namespace: str = "") -> Iterator[_Line]:
    """`lead` is before the branch itself, `below` before what belongs to it; names in `namespace` go without it."""
    style = "bold red" if branch.deleting is not None else "bold" if branch.kind else ""
    label = branch.label
    if namespace and lead:  # the first line says it for all
        label = label.replace(f" {namespace}/", " ", 1).replace(", simulated)", ")").removesuffix(" (simulated)")
    trail = below + (_PIPE if branch.children else "")
    yield _Line(Cell(label, style, lead, trail), branch.counts, None if branch.conditions else branch.state)
    for number, condition in enumerate(branch.conditions):
        last = number == len(branch.conditions) - 1
        before = below + (_PIPE if branch.children else _SPACE) + _INDENT
        name = Cell(condition.type, "cyan", before + (_LAST if last else _FORK), before + ("" if last else _PIPE))
        yield _Line(name, None, condition)
    for number, child in enumerate(branch.children):
        last = number == len(branch.children) - 1
        yield from _lines(child, below + (_LAST if last else _FORK), below + (_SPACE if last else _PIPE), namespace)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _replicas(counts: Counts | None) -> str:
    if counts is None or (counts.replicas is None and counts.desired is None):
        return ""
    return str(counts.replicas) if counts.desired is None else f"{counts.replicas or 0}/{counts.desired}"


def _ready(counts: Counts | None) -> str:
    if counts is None or counts.desired is None:
        return ""
    return f"{counts.ready or 0}/{counts.desired}"


def _state(state: State, now: datetime) -> tuple[Cell, Cell, Cell]:
    style = {True: "green", False: "red", None: "yellow"}[state.good]
    return Cell(state.status, style), Cell(state.reason), Cell(age(state.since, now))


def paragraph(text: str, width: int) -> str:
    """Text in lines of a width; what is a line of its own stays one, and a list keeps its indentation."""
    lines = []
    for given in text.split("\n"):
        indent = given[: len(given) - len(given.lstrip(" "))]
        line = indent
        if given.strip().startswith("* "):
            indent += "  "
        for word in given.split():
            if line.strip() and len(line) + 1 + len(word) > width:
                lines.append(line)
                line = indent + word
            else:
                line += f" {word}" if line.strip() else word
        lines.append(line)
    return "\n".join(lines)
