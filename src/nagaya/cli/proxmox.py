"""`nagaya proxmox`: what is done with a Proxmox VE before clusters are. Its commands are imported when called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

import click

# The name of each command, where it lives, and what the menu says of it.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "connect": ("nagaya.cli.proxmox_connect:connect", "Make a user and a token with the least rights, and store them."),
    "check": ("nagaya.cli.proxmox_check:check", "Say whether a connection works, and what is missing."),
    "image": ("nagaya.cli.proxmox_image:image", "Bring images to Proxmox VE, and keep them in order."),
}


class _Menu(click.Group):
    """A group whose commands are imported only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.command(cls=_Menu)
def proxmox() -> None:
    """Connect a Proxmox VE, check it, and bring images to it."""
