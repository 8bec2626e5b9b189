"""Tables, for pipes and for terminals."""

from __future__ import annotations

import io

from rich.console import Console

from nagaya.cli.output.table import Cell, Table


def table() -> Table:
    found = Table(("NAME", "STATE", "MESSAGE"))
    found.add(Cell("Cluster demo", "bold", trail="│ "), Cell("False", "red"), "first\nsecond")
    found.add(Cell("Machine a", lead="└─"), "True", "")
    return found


def test_columns_are_as_wide_as_they_need_to_be() -> None:
    assert table().plain() == (
        "NAME          STATE  MESSAGE\nCluster demo  False  first\n│                    second\n└─Machine a   True\n"
    )
    assert table().width_before_last == len("Cluster demo  False  ")
    assert table().width == len("NAME          STATE  MESSAGE")


def test_a_narrow_terminal_goes_without_columns_rather_than_with_half_names() -> None:
    found = Table(("NAME", "PHASE", "AGE", "VERSION"))
    found.add("a-cluster-of-mine", "Provisioned", "3m", "v1.36.3")
    assert found.within(80, ("AGE", "PHASE")) is found
    assert found.within(41, ("AGE", "PHASE")).header == ("NAME", "PHASE", "VERSION")
    assert found.within(30, ("AGE", "PHASE")).plain() == "NAME               VERSION\na-cluster-of-mine  v1.36.3\n"
    assert found.within(10, ("AGE", "PHASE")).header == ("NAME", "VERSION"), "what is not to spare stays"


def test_a_terminal_gets_colours_and_folds() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=26, color_system="standard", legacy_windows=False)
    console.print(table().rich())
    assert "\x1b[31mFalse" in stream.getvalue()
    assert all(len(line) < 80 for line in stream.getvalue().splitlines())


def test_markup_in_what_objects_say_is_only_text() -> None:
    found = Table(("A", "B"))
    found.add("[red]x[/red]", "[bold]")
    stream = io.StringIO()
    Console(file=stream, width=80).print(found.rich())
    assert "[red]x[/red]" in stream.getvalue()
