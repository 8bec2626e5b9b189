"""`nagaya manifests`: the command."""

from __future__ import annotations

import click

import nagaya
from nagaya.cli.addresses import allow_endpoint
from nagaya.cli.controllers import PARTS
from nagaya.cli.output.document import manifests_option, printed_manifests
from nagaya.cli.parts import chosen

DEFAULT = tuple(part for part in PARTS if part != "infrastructure-simulated")


@click.command()
@click.option(
    "--namespace", default="nagaya-system", show_default=True, metavar="NAMESPACE", help="Where the controllers run."
)
@click.option(
    "--image",
    default=f"nagaya:{nagaya.__version__}",
    show_default=True,
    metavar="IMAGE",
    help="The image of the controllers: one that has the command nagaya.",
)
@click.option(
    "--only",
    metavar="PART,...",
    callback=lambda context, option, value: DEFAULT if value is None else chosen(PARTS)(context, option, value),
    help=f"Only these parts: {', '.join(PARTS)}.  [default: all but infrastructure-simulated]",
)
@click.option("--crds/--no-crds", default=True, help="The definitions of the parts' kinds, too.  [default: crds]")
@click.option(
    "--service-monitor", is_flag=True, help="Also a ServiceMonitor: for clusters that have the Prometheus operator."
)
@allow_endpoint
@manifests_option
def manifests(
    namespace: str,
    image: str,
    only: tuple[str, ...],
    crds: bool,
    service_monitor: bool,
    allowed: tuple[str, ...],
    output: str,
) -> None:
    """Print what runs the controllers on a Kubernetes cluster.

    A namespace, the definitions of the kinds, a ServiceAccount with no more rights than the parts use, a Deployment of
    two replicas of which one works at a time, a Service for metrics and a PodDisruptionBudget. Apply it server-side:
    definitions are larger than what kubectl can remember in an annotation.

    \b
    Examples:
      nagaya manifests --image registry.example/nagaya:0.1.0 | kubectl apply --server-side -f -
      nagaya manifests --no-crds --namespace clusters
      nagaya manifests --only core,ipam,infrastructure-proxmox --service-monitor
    """
    from nagaya.cli.manifests.installation import Installation

    made = Installation(namespace, image, only, crds, service_monitor, allowed).manifests()
    click.echo(printed_manifests(made, output), nl=False)
