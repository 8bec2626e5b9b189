"""A bar on a terminal. Apart from progress.py because importing rich costs more than most calls take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from nagaya.binaries.progress import Activity, Unit, amount
from nagaya.foreign_text import safe_console


class TerminalReporter:
    """Lines that stay, and one bar that moves below them while something is going on."""

    def __init__(self, stream: IO[str]) -> None:
        self._console = safe_console(stream)

    def say(self, line: str) -> None:
        """One line that stays; it does not tear a bar that is being drawn."""
        self._console.print(line, soft_wrap=True)

    @contextmanager
    def activity(self, title: str, unit: Unit) -> Iterator[Activity]:
        """A bar with the elapsed time, gone when the work is."""
        columns: list[ProgressColumn] = [TextColumn("{task.description}", markup=False), BarColumn(bar_width=24)]
        columns += [_AmountColumn(unit), TimeElapsedColumn(), TextColumn("{task.fields[note]}", markup=False)]
        progress = Progress(*columns, console=self._console, transient=True, refresh_per_second=4)
        with progress:
            yield _Bar(progress, progress.add_task(title, total=None, note=""))


class _AmountColumn(ProgressColumn):
    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: object) -> Text:
        done = int(getattr(task, "completed", 0))
        total = getattr(task, "total", None)
        return Text(amount(done, None if total is None else int(total), self._unit))


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def total(self, total: int) -> None:
        self._progress.update(self._task, total=total)

    def reached(self, done: int) -> None:
        self._progress.update(self._task, completed=done)

    def note(self, text: str) -> None:
        self._progress.update(self._task, note=text)

    def tick(self) -> None:
        """Nothing: the bar's clock moves by itself."""
