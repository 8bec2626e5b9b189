"""`nagaya controllers`: the controllers alone, against any Kubernetes API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nagaya.cli.addresses import address, allow_endpoint, own_address, port_range, tenants_users_option
from nagaya.cli.data_dir import default_data_dir
from nagaya.cli.log_options import log_options
from nagaya.cli.parts import chosen, listed

if TYPE_CHECKING:
    from nagaya.cli.logs import Form
    from nagaya.kube.connection import Connection

PARTS = (
    "core",
    "bootstrap-kubeadm",
    "controlplane-kubeadm",
    "controlplane-hosted",
    "addons",
    "ipam",
    "infrastructure-proxmox",
    "infrastructure-simulated",
)


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
    "--namespace",
    "namespaces",
    metavar="NAMESPACE,...",
    multiple=True,
    callback=listed,
    help="Watch only these namespaces, separated by commas or given several times.  [default: all]",
)
@click.option(
    "--watch-filter",
    default="",
    metavar="VALUE",
    help="Look only after objects with the label cluster.x-k8s.io/watch-filter=VALUE.  [default: all]",
)
@click.option(
    "--install-crds",
    is_flag=True,
    help="First install the definitions of the parts' kinds, or bring them up to date; an old version that is "
    "converted is kept. See `nagaya crds`.",
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
    help="Serve defaults, checks and conversion (CAPMOX's v1alpha1) of Nagaya's kinds there and have the API call "
    "them; CAPMOX's definitions are taken over. HOST must be an address that the API server reaches. Not needed with "
    "`nagaya up`, which does the same by itself.  [default: nowhere]",
)
@click.option(
    "--hosted-as",
    type=click.Choice(["processes", "pods"]),
    default="processes",
    show_default=True,
    help="What hosted control planes are: processes of this machine, or pods of the management cluster.",
)
@click.option(
    "--tenants-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: default_data_dir() / "hosted",
    show_default="~/.local/share/nagaya/hosted",
    help="Where hosted control planes and the data stores of this machine are kept. Made with the first of them.",
)
@click.option(
    "--tenants-address",
    metavar="ADDRESS",
    callback=own_address,
    help="The address of this machine at which hosted control planes listen.  [default: the one that others see]",
)
@click.option(
    "--tenants-ports",
    metavar="FIRST-LAST",
    callback=port_range,
    default="16443-17442",
    show_default=True,
    help="Ports for APIs of hosted control planes that do not ask for one of their own.",
)
@tenants_users_option
@click.option(
    "--stop-tenants",
    is_flag=True,
    help="Stop hosted control planes when this command stops. They go on otherwise, and are found at its next start.",
)
@allow_endpoint
@click.option("--qps", type=float, default=100.0, show_default=True, help="Requests per second, on average.")
@click.option("--burst", type=int, default=200, show_default=True, help="Requests at once.")
@log_options
def controllers(
    kubeconfig: Path | None,
    context: str | None,
    only: tuple[str, ...],
    namespaces: tuple[str, ...],
    watch_filter: str,
    install_crds: bool,
    leader_elect: bool,
    lease_namespace: str,
    health: tuple[str, int] | None,
    admission: tuple[str, int] | None,
    hosted_as: str,
    tenants_dir: Path,
    tenants_address: str,
    tenants_ports: range,
    tenants_users: range,
    stop_tenants: bool,
    allowed: tuple[str, ...],
    qps: float,
    burst: int,
    verbose: int,
    log_format: Form,
) -> None:
    """Run Nagaya's controllers against any Kubernetes API until Ctrl-C.

    Each part does what the Cluster API provider of that name does, and can be left out: the rest works next to other
    providers' controllers. `infrastructure-proxmox` makes machines on Proxmox VE, `infrastructure-simulated` some that
    do not exist, for trials; `controlplane-hosted` runs control planes as processes of this machine, or as pods of the
    management cluster.

    An API that does not answer yet, or does not have the kinds yet, is waited for.

    \b
    Examples:
      nagaya controllers --kubeconfig ~/.local/share/nagaya/kubeconfig --install-crds
      nagaya controllers --only core --leader-elect --health 127.0.0.1:9440
      nagaya controllers --namespace team-a,team-b --watch-filter nagaya
    """
    from nagaya.cli import logs
    from nagaya.cli.controllers_run import Settings, run
    from nagaya.controlplane.hosted.host.settings import HostSettings
    from nagaya.controlplane.hosted.pods.settings import PodSettings

    logs.set_up(verbose, log_format)
    settings = Settings(
        only,
        install_crds=install_crds,
        lease_namespace=lease_namespace if leader_elect else None,
        health=health,
        admission=admission,
        rate=(qps, burst),
        namespaces=namespaces,
        watch_filter=watch_filter,
        hosting=HostSettings(
            tenants_dir.absolute(), tenants_address, tenants_ports, users=tenants_users, stop_with_us=stop_tenants
        ),
        pods=PodSettings() if hosted_as == "pods" else None,
        allowed=allowed,
    )
    run(settings, connection(kubeconfig, context))


def connection(path: Path | None, context: str | None) -> Connection:
    from nagaya.kube import kubeconfig

    try:
        if path is None and not os.environ.get("KUBECONFIG") and kubeconfig.ACCOUNT_FOLDER.exists():
            return kubeconfig.in_cluster()
        return kubeconfig.load(path, context)
    except kubeconfig.KubeconfigError as error:
        raise click.ClickException(str(error)) from error
