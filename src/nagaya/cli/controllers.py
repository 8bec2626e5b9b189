"""`nagaya controllers`: the controllers alone, against any Kubernetes API."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nagaya.cli.addresses import address
from nagaya.cli.parts import chosen

if TYPE_CHECKING:
    from nagaya.kube.connection import Connection

PARTS = ("core", "addons", "infrastructure-simulated")


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="How to reach the management API.  [default: $KUBECONFIG, ~/.kube/config, or the pod's own service account]",
)
@click.option("--context", help="The context of the kubeconfig to use.  [default: its current one]")
@click.option(
    "--only",
    metavar="PART,...",
    callback=chosen(PARTS),
    help=f"Run only these parts: {', '.join(PARTS)}. Leave out those that another provider's controllers do.",
)
@click.option(
    "--install-crds",
    is_flag=True,
    help="First install the definitions of the parts' kinds, or bring them up to date. See `nagaya crds`.",
)
@click.option(
    "--leader-elect",
    is_flag=True,
    help="Work only while this process holds the lease: for several replicas, of which one works.",
)
@click.option(
    "--lease-namespace", default="default", show_default=True, help="Where the lease nagaya-controllers is kept."
)
@click.option(
    "--health",
    metavar="HOST:PORT",
    callback=address,
    help="Serve /healthz, /readyz and /metrics there. Port 0 takes any free one.  [default: nowhere]",
)
@click.option(
    "--admission",
    metavar="HOST:PORT",
    callback=address,
    help="Serve defaults and checks of Nagaya's kinds there and have the API call them. HOST must be an address that "
    "the API server reaches. Not needed with `nagaya up`, which does the same by itself.  [default: nowhere]",
)
@click.option("--qps", type=float, default=100.0, show_default=True, help="Requests per second, on average.")
@click.option("--burst", type=int, default=200, show_default=True, help="Requests at once.")
@click.option("-v", "--verbose", count=True, help="Say what is done (-v), and every detail (-vv).")
def controllers(
    kubeconfig: Path | None,
    context: str | None,
    only: tuple[str, ...],
    install_crds: bool,
    leader_elect: bool,
    lease_namespace: str,
    health: tuple[str, int] | None,
    admission: tuple[str, int] | None,
    qps: float,
    burst: int,
    verbose: int,
) -> None:
    """Run Nagaya's controllers against any Kubernetes API until Ctrl-C.

    Each part does what the Cluster API provider of that name does, and can be left out: the rest works next to other
    providers' controllers. `infrastructure-simulated` makes machines that do not exist, for trials.

    \b
    Examples:
      nagaya controllers --kubeconfig ~/.local/share/nagaya/kubeconfig --install-crds
      nagaya controllers --only core --leader-elect --health 127.0.0.1:9440
    """
    import logging

    import uvloop

    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=level)
    uvloop.run(
        _run(
            _connection(kubeconfig, context),
            only,
            install_crds,
            lease_namespace if leader_elect else None,
            health,
            admission,
            (qps, burst),
        )
    )


def _connection(path: Path | None, context: str | None) -> Connection:
    from nagaya.kube import kubeconfig

    try:
        if path is None and kubeconfig.ACCOUNT_FOLDER.exists():
            return kubeconfig.in_cluster()
        return kubeconfig.load(path, context)
    except kubeconfig.KubeconfigError as error:
        raise click.ClickException(str(error)) from error


async def _run(
    connection: Connection,
    only: tuple[str, ...],
    install_crds: bool,
    lease_namespace: str | None,
    health: tuple[str, int] | None,
    admission: tuple[str, int] | None,
    rate: tuple[float, int],
) -> None:
    from nagaya.api.catalog import PARTS as DEFINITIONS
    from nagaya.cli.admission import AdmissionServer
    from nagaya.cli.plane import Plane, install
    from nagaya.kube.calls import nothing
    from nagaya.kube.client import Client
    from nagaya.kube.election import Election, LostLeadership, unique_identity
    from nagaya.kube.endpoints import Endpoints
    from nagaya.kube.errors import ApiError
    from nagaya.kube.http import HttpTransport
    from nagaya.kube.rate import RateLimit
    from nagaya.kube.transport import NoAnswer
    from nagaya.world import World

    world = World()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    client = Client(HttpTransport(connection, world=world), world=world, field_manager="nagaya")
    election = None
    if lease_namespace is not None:
        election = Election(client, world, lease_namespace, "nagaya-controllers", unique_identity(world))
    plane = Plane(
        HttpTransport(connection, world=world),
        world,
        lambda tenant: HttpTransport(tenant, world=world),
        parts=only,
        limit=RateLimit(*rate, world.clock),
        guard=nothing if election is None else election.guard,
    )
    endpoints = Endpoints(plane.manager)
    rules = AdmissionServer(client, world, [each for part in only for each in DEFINITIONS[part]])

    async def work() -> None:
        await plane.start()
        click.echo(f"Running {', '.join(only)} against {connection.server}. Stop with Ctrl-C.")
        await stopping.wait()
        click.echo("Stopping ...")

    try:
        if install_crds:
            await install(client, only)
        if health is not None:
            await endpoints.start(*health)
        if admission is not None:
            await rules.start(*admission)
        await (work() if election is None else election.run(work))
    except LostLeadership as error:
        raise click.ClickException(
            f"{error}. Another replica works now; start this one again to wait for it."
        ) from None
    except (ApiError, NoAnswer, OSError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        await plane.stop()
        if admission is not None:
            await rules.stop()
        await endpoints.stop()
        await client.close()
