"""`nagaya controllers`: the controllers alone, against any Kubernetes API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nagaya.cli.addresses import address
from nagaya.cli.parts import chosen

if TYPE_CHECKING:
    from nagaya.kube.connection import Connection

PARTS = ("core", "addons", "infrastructure-simulated")


def reachable_address(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """HOST:PORT that is told to others, so it cannot stand for all addresses."""
    found = address(context, parameter, value)
    if found is not None and found[0] in ("0.0.0.0", "::"):  # noqa: S104 - to refuse it, not to bind to it
        raise click.BadParameter(
            f"{value!r} is no address that the API server can call. Name one of this machine's own."
        )
    return found


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="How to reach the management API.  [default: $KUBECONFIG, the pod's service account, or ~/.kube/config]",
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
    callback=reachable_address,
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

    An API that does not answer yet, or does not have the kinds yet, is waited for.

    \b
    Examples:
      nagaya controllers --kubeconfig ~/.local/share/nagaya/kubeconfig --install-crds
      nagaya controllers --only core --leader-elect --health 127.0.0.1:9440
    """
    import logging

    from nagaya.cli.controllers_run import Settings, run

    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=level)
    settings = Settings(
        _connection(kubeconfig, context),
        only,
        install_crds=install_crds,
        lease_namespace=lease_namespace if leader_elect else None,
        health=health,
        admission=admission,
        rate=(qps, burst),
    )
    run(settings)


def _connection(path: Path | None, context: str | None) -> Connection:
    from nagaya.kube import kubeconfig

    try:
        if path is None and not os.environ.get("KUBECONFIG") and kubeconfig.ACCOUNT_FOLDER.exists():
            return kubeconfig.in_cluster()
        return kubeconfig.load(path, context)
    except kubeconfig.KubeconfigError as error:
        raise click.ClickException(str(error)) from error
