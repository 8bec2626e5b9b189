"""Where `nagaya demo` runs: beside a plane of its own, or against the one that runs on the data folder already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import click
import uvloop

from nagaya.blueprints.applying import Refused
from nagaya.cli.controllers import connection
from nagaya.cli.demo.run import Demo
from nagaya.cli.output.ended import Ended
from nagaya.cli.server_start import data_problem
from nagaya.cli.signals import Signals
from nagaya.cli.up_run import HOSTED, Guest, Settings, serve
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.kube.errors import ApiError
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import NoAnswer
from nagaya.world import World


def run_demo(data_dir: Path, listen: tuple[str, int], *, simulated: bool, delete: bool) -> None:
    """To its end, good or bad."""
    kubeconfig = data_dir / "kubeconfig"
    demo = Demo(data_dir, kubeconfig, simulated)
    guest = Guest(demo.delete if delete else demo.run, ends=delete)
    elsewhere = bool(data_problem(data_dir))
    if not elsewhere and delete and not kubeconfig.exists():
        click.echo(f"There is no demo: nothing was ever kept in {data_dir}.")
        return
    try:
        if elsewhere:
            click.echo(f"A management API runs on {data_dir}: the demo uses it.")
            uvloop.run(_against(kubeconfig, guest.work))
        else:
            # Nobody else has to reach the demo's tenant.
            settings = Settings(data_dir, listen, kubeconfig, HostSettings(data_dir.absolute() / HOSTED, "127.0.0.1"))
            uvloop.run(serve(settings, guest))
    except (Ended, Refused, ApiError, NoAnswer) as error:
        raise click.ClickException(str(error)) from error


async def _against(kubeconfig: Path, work: Callable[..., Awaitable[None]]) -> None:
    signals, world = Signals(), World()
    found = connection(kubeconfig, None)
    if await signals.until(_coroutine(work(lambda: HttpTransport(found, world=world), world, found.server))):
        click.echo("Stopped. The tenant's control plane goes on; its machines went with their data center.")


async def _coroutine(work: Awaitable[None]) -> None:
    await work
