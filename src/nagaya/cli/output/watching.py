"""How something that is watched is shown: drawn again on a terminal, told change by change into a pipe, or whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nagaya.cli.output.document import streamed
from nagaya.cli.output.screen import Screen, note
from nagaya.cli.output.tree import drawn_tree
from nagaya.insight.picture.picture import Picture
from nagaya.insight.tree.branch import Branch
from nagaya.insight.tree.changes import changes
from nagaya.insight.tree.document import document
from nagaya.insight.tree.shown import Shown
from nagaya.insight.tree.tree import tree

if TYPE_CHECKING:
    from rich.live import Live


class View(ABC):
    """One way to show pictures as they come."""

    ages = False
    """Whether it shows how long ago things were, and has to be drawn again now and then."""

    def __init__(self, shown: Shown) -> None:
        self.screen = Screen()
        self._shown = shown
        self._noted: set[str] = set()
        self._opened = ExitStack()

    @abstractmethod
    def show(self, picture: Picture, now: datetime) -> None:
        """Show the next picture."""

    def note(self, troubles: Iterable[str]) -> None:
        """Say what cannot be followed, once."""
        for each in troubles:
            if each not in self._noted:
                self._noted.add(each)
                note(f"Not shown: {each.rstrip('.')}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave what was shown last."""
        self._opened.close()


class TreeView(View):
    """The tree, drawn again in place. What cannot be followed at present stands below it."""

    ages = True

    def __init__(self, shown: Shown) -> None:
        super().__init__(shown)
        self._live: Live | None = None

    def show(self, picture: Picture, now: datetime) -> None:
        """Draw."""
        from rich.console import Group
        from rich.text import Text

        drawn = Group(
            drawn_tree(tree(picture, self._shown), now, self.screen.console.width),
            *(Text(each, style="yellow") for each in picture.unread),
        )
        if self._live is None:
            self._live = self.screen.live(drawn)
            self._live.start(refresh=True)
            self._opened.callback(self._live.stop)
        else:
            self._live.update(drawn, refresh=True)


class ChangesView(View):
    """A line for each change, with its time. First everything that is there."""

    def __init__(self, shown: Shown) -> None:
        super().__init__(Shown(shown.conditions, grouping=False, echo=True, machine_sets=shown.machine_sets))
        self._before: Branch | None = None

    def show(self, picture: Picture, now: datetime) -> None:
        """Print what is new."""
        self.note(picture.unread)
        after = tree(picture, self._shown)
        for each in changes(self._before, after):
            place = f"{each.namespace}/{each.name}" if each.namespace else each.name
            self.screen.line(f"{now.astimezone(UTC):%H:%M:%S}  {each.kind} {place}: {each.what}")
        self._before = after


class DocumentView(View):
    """The whole tree for each change, for programs."""

    def __init__(self, shown: Shown, output: str) -> None:
        super().__init__(shown)
        self._output = output
        self._before: Branch | None = None

    def show(self, picture: Picture, now: datetime) -> None:
        """Print it, if it is another one."""
        self.note(picture.unread)
        after = tree(picture, self._shown)
        if after != self._before:
            self.screen.text(streamed(document(after), self._output))
        self._before = after
