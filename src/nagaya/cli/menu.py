"""A group of commands that are imported only when they are called, so that `--help` answers at once."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nagaya.foreign_text import escape_lines, escape_output

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Menu(click.Group):
    """`entries` has for each command where it lives (`module:attribute`) and what the menu says of it."""

    def __init__(self, entries: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self._entries = entries

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run as a process. Whatever it prints is escaped, also what the interpreter says of an unexpected error."""
        streams = sys.stdout, sys.stderr
        if sys.stdin is None:  # closed by whoever started the process: then it is empty
            sys.stdin = open(os.devnull)  # noqa: SIM115
        escape_output()
        try:
            return super().main(*args, **settings)
        except SystemExit:
            sys.stdout, sys.stderr = streams
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._entries:
            return None
        module, _, attribute = self._entries[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Ctrl-C ends whatever is at work, also while a command is still being imported, with the same exit code. No
        line of an error looks like a message of its own."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            vars(error).update(message=escape_lines(error.message))
            raise
        except KeyboardInterrupt:
            from nagaya.cli.output.exit_code import ExitCode

            raise SystemExit(int(ExitCode.INTERRUPTED)) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._entries.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that a word may become, without importing any of them, and the options of the menu itself."""
        from click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=text) for name, (_, text) in self._entries.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]
