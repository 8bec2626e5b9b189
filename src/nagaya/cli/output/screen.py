"""Where a command prints: a terminal, or something that is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nagaya.cli.output.table import Table
from nagaya.foreign_text import escape_line, escape_lines, safe_console

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live


class Screen:
    """Standard output, used in the one way that fits what it is."""

    def __init__(self, *, terminal: bool | None = None) -> None:
        """`terminal` overrides what is found, for tests."""
        self.terminal = _is_terminal() if terminal is None else terminal
        self._console: Console | None = None

    def table(self, table: Table, spare: Sequence[str] = ()) -> None:
        """Print a table. `spare` are columns that a terminal which is too narrow goes without, the first before the
        others."""
        if self.terminal:
            self.console.print(table.within(self.console.width, spare).rich())
        else:
            self.text(table.plain())

    def show(self, content: RenderableType) -> None:
        """Print something of rich's; only on a terminal."""
        self.console.print(content)

    def line(self, line: str, style: str = "") -> None:
        """Print a line. Line breaks in it are shown as such."""
        line = escape_line(line)
        if self.terminal and style:
            self.console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
        else:
            click.echo(line)

    def text(self, text: str) -> None:
        """Print text that ends its own lines."""
        click.echo(text, nl=False)

    def live(self, first: RenderableType) -> Live:
        """Something that is drawn again in the same place; only on a terminal."""
        from rich.live import Live

        return Live(first, console=self.console, auto_refresh=False, vertical_overflow="ellipsis")

    @property
    def console(self) -> Console:
        """Rich's, made when it is needed: importing it takes a while."""
        if self._console is None:
            self._console = safe_console(sys.stdout)
        return self._console


def _is_terminal() -> bool:
    """Whether there is a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def note(sentence: str) -> None:
    """Say something that is not the result: to standard error."""
    click.echo(escape_lines(sentence), err=True)
