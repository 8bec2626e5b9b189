"""`nagaya crds`: the definitions of all kinds, to be installed in any Kubernetes."""

from __future__ import annotations

import click

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.cli.output.document import manifests_option, printed_manifests
from nagaya.cli.parts import chosen


@click.command()
@click.option(
    "--only",
    metavar="PART,...",
    callback=chosen(PARTS),
    help=f"Only the kinds of these parts: {', '.join(PARTS)}. Leave out those whose kinds another provider brings.",
)
@manifests_option
def crds(only: tuple[str, ...], output: str) -> None:
    """Print the CustomResourceDefinitions of Nagaya's kinds.

    They make a Kubernetes of yours know them. Server-side, because they are larger than what kubectl can remember in an
    annotation. After that, `kubectl explain machinedeployment.spec` says what each field does.

    \b
    Examples:
      nagaya crds | kubectl apply --server-side -f -
      nagaya crds --only infrastructure-proxmox,ipam > kinds.yaml
      nagaya crds -o json | jq -r '.items[].metadata.name'
    """
    click.echo(printed_manifests([render(each) for part in only for each in PARTS[part]], output), nl=False)
