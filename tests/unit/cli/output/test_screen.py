"""Where a command prints."""

from __future__ import annotations

import pytest

from nagaya.cli.output.screen import Screen, note
from nagaya.cli.output.table import Table


def test_a_pipe_gets_plain_text_and_notes_go_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(("NAME", "MESSAGE"))
    table.add("demo", "[bold]it is well[/bold]")
    screen = Screen()
    assert not screen.terminal
    screen.table(table)
    screen.line("a line", "red")
    note("a note")
    printed = capsys.readouterr()
    assert printed.out == "NAME  MESSAGE\ndemo  [bold]it is well[/bold]\na line\n"
    assert printed.err == "a note\n"


def test_what_objects_say_is_never_taken_for_markup_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(terminal=True).line("[red]x[/red] :smile:", "yellow")
    assert "[red]x[/red] :smile:" in capsys.readouterr().out
