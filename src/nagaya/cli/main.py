"""The `nagaya` command. Commands are imported when they are called, so that `--help` answers at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

import nagaya
from nagaya.cli.menu import Menu

# The name of each command, where it lives, and what the menu says of it.
_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "up": ("nagaya.cli.up:up", "Start the management API and its controllers, and print what to type next."),
    "demo": ("nagaya.cli.demo.command:demo", "Make a tenant to play with, on an emulated Proxmox VE."),
    "create": ("nagaya.cli.create:create", "Make a cluster from a few words."),
    "backup": ("nagaya.cli.backup:backup", "Copy the management API's data into one file, while it runs."),
    "restore": ("nagaya.cli.backup:restore", "Put a backup in place of the management API's data."),
    "controllers": ("nagaya.cli.controllers:controllers", "Run the controllers against any Kubernetes API."),
    "crds": ("nagaya.cli.crds:crds", "Print the definitions of all kinds, for a Kubernetes of your own."),
    "manifests": ("nagaya.cli.manifests.command:manifests", "Print what runs the controllers on a Kubernetes cluster."),
    "convert": ("nagaya.cli.convert:convert", "Print Cluster API manifests of older versions as v1beta2."),
    "lint": ("nagaya.cli.lint:lint", "Find what would keep a new cluster from starting."),
    "describe": ("nagaya.cli.describe:describe", "Show how a cluster stands, and why."),
    "plan": ("nagaya.cli.plan:plan", "Show what applying manifests would do, before it is done."),
    "why": ("nagaya.cli.why:why", "Say why an object is as it is, down to the deepest cause, and what to do."),
    "get": ("nagaya.cli.get:get", "List clusters, and get into one."),
    "timeline": ("nagaya.cli.timeline:timeline", "Tell what happened to a cluster or a machine, in order."),
    "events": ("nagaya.cli.timeline:timeline", "The same as timeline."),
    "doctor": ("nagaya.cli.doctor:doctor", "Examine everything, and say what is wrong and what to do."),
    "gc": ("nagaya.cli.gc:gc", "Remove leftovers that are provably ours."),
    "move": ("nagaya.cli.move:move", "Move clusters to another management API, and back."),
    "tenant": ("nagaya.cli.tenant:tenant", "Back up and restore single tenants."),
    "kubernetes": ("nagaya.cli.kubernetes:kubernetes", "Provide the real Kubernetes programs."),
    "proxmox": ("nagaya.cli.proxmox.menu:proxmox", "Connect a Proxmox VE, check it, and bring images to it."),
    "simulate": ("nagaya.cli.simulate:simulate", "Start emulated systems for tries, demos and tests."),
}


@click.command(cls=Menu, entries=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(nagaya.__version__, prog_name="nagaya")
def main() -> None:
    """Kubernetes clusters as tenants of your own hardware.

    Start with `nagaya up`: it gives you a management API that kubectl can talk to, and controllers that do the work. Or
    see all of it at once, on an emulated Proxmox VE: `nagaya demo`.
    """


if __name__ == "__main__":
    main()
