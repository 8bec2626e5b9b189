"""`nagaya proxmox`: what is done with a Proxmox VE before clusters are. Its commands are imported when called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from nagaya.cli.menu import Menu

# The name of each command, where it lives, and what the menu says of it.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "connect": ("nagaya.cli.proxmox.connect:connect", "Make a user and a token with the least rights, and store them."),
    "check": ("nagaya.cli.proxmox.check:check", "Say whether a connection works, and what is missing."),
    "image": ("nagaya.cli.proxmox.image:image", "Bring images to Proxmox VE, and keep them in order."),
}


@click.command(cls=Menu, entries=_COMMANDS)
def proxmox() -> None:
    """Connect a Proxmox VE, check it, and bring images to it."""
