"""`nagaya timeline` and its other name."""

from __future__ import annotations

import click

from nagaya.cli.main import main


def test_events_is_another_name_for_it() -> None:
    context = click.Context(main)
    assert main.get_command(context, "events") is main.get_command(context, "timeline")
