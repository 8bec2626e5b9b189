"""The `nagaya` command. Commands are imported when they are called, so that `--help` answers at once."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

import click

import nagaya

# The name of each command, where it lives, and what the menu says of it.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "up": ("nagaya.cli.up:up", "Start the management API and print what to type next."),
    "backup": ("nagaya.cli.backup:backup", "Copy the management API's data into one file, while it runs."),
    "restore": ("nagaya.cli.backup:restore", "Put a backup in place of the management API's data."),
    "controllers": ("nagaya.cli.controllers:controllers", "Run the controllers against any Kubernetes API."),
    "crds": ("nagaya.cli.crds:crds", "Print the definitions of all kinds, for a Kubernetes of your own."),
    "convert": ("nagaya.cli.convert:convert", "Print Cluster API manifests of older versions as v1beta2."),
    "tenant": ("nagaya.cli.tenant:tenant", "Back up and restore single tenants."),
    "kubernetes": ("nagaya.cli.kubernetes:kubernetes", "Provide the real Kubernetes programs."),
    "proxmox": ("nagaya.cli.proxmox:proxmox", "Connect a Proxmox VE, check it, and bring images to it."),
    "simulate": ("nagaya.cli.simulate:simulate", "Start emulated systems for tries, demos and tests."),
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


@click.command(cls=_Menu, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(nagaya.__version__, prog_name="nagaya")
def main() -> None:
    """Kubernetes clusters as tenants of your own hardware.

    Start with `nagaya up`: it gives you a management API that kubectl can talk to.
    """


if __name__ == "__main__":
    main()
