"""The commands that there are, with their groups."""

from __future__ import annotations

from collections.abc import Iterator

import click

from nagaya.cli.main import main


def commands(command: click.Command = main, path: str = "nagaya") -> Iterator[tuple[str, click.Command]]:
    """Every group and command, by what is typed for it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, f"{path} {name}")


def leaves() -> dict[str, click.Command]:
    """The commands that do something."""
    return {path: command for path, command in commands() if not isinstance(command, click.Group)}
