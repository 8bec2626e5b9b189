"""`nagaya demo`: the command."""

from __future__ import annotations

from pathlib import Path

import click

from nagaya.cli.addresses import address
from nagaya.cli.data_dir import default_data_dir
from nagaya.cli.up import DEFAULT_PORT


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_data_dir,
    show_default="~/.local/share/nagaya",
    help="The data folder of `nagaya up`. If that runs, it is used; else it runs in this process.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    callback=address,
    default=f"127.0.0.1:{DEFAULT_PORT}",
    show_default=True,
    help="Where clients of the management API connect, if it runs in this process. Port 0 takes any free one.",
)
@click.option(
    "--simulated", is_flag=True, help="Simulate the control plane, too, although the real programs are there."
)
@click.option("--delete", is_flag=True, help="Remove everything that the demo made, and nothing else.")
def demo(data_dir: Path, listen: tuple[str, int], simulated: bool, delete: bool) -> None:
    """A tenant to play with: an emulated Proxmox VE of three hosts, a hosted control plane, and two workers.

    The control plane is real if the Kubernetes programs are on this machine, or can be downloaded; else it is
    simulated, and says so. Nothing is ever compiled for it. It stays in the foreground until Ctrl-C; the next start
    finds what is there. Warnings go to the file demo.log in the data folder.

    \b
    Examples:
      nagaya demo
      nagaya demo --simulated
      nagaya demo --delete
    """
    from nagaya.cli import logs
    from nagaya.cli.demo.log_file import log_file
    from nagaya.cli.demo.process import run_demo

    # To look for something to delete makes nothing.
    logs.set_up(0, "text", None if delete and not data_dir.exists() else log_file(data_dir))
    run_demo(data_dir, listen, simulated=simulated, delete=delete)
