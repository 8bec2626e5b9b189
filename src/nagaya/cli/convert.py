"""`nagaya convert`: manifests of older Cluster API versions as v1beta2. Reads, calls the conversion, writes."""

from __future__ import annotations

import sys

import click

from nagaya.cli.manifest_files import texts
from nagaya.cli.output.document import manifests_option, printed_manifests


@click.command()
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file, a folder (its .yaml, .yml and .json files), or - for standard input. May be given several times.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if something could not be carried over.")
@click.option(
    "--provider",
    default="",
    metavar="NAME",
    help="For cluster.k8s.io/v1alpha1: how the kinds of your infrastructure provider begin, such as Proxmox. "
    "Found from the kind of the old providerSpec if left out.",
)
@click.option(
    "--infrastructure-api-version",
    default="infrastructure.cluster.x-k8s.io/v1beta2",
    show_default=True,
    metavar="VERSION",
    help="For cluster.k8s.io/v1alpha1: group and version of those kinds.",
)
@manifests_option
def convert(
    sources: tuple[str, ...], strict: bool, provider: str, infrastructure_api_version: str, output: str
) -> None:
    """Print Cluster API manifests of older versions as v1beta2.

    Reads v1beta1 of all groups and cluster.k8s.io/v1alpha1, with MachineClasses, which become templates that are shared
    by reference; and v1alpha1 of CAPMOX, which becomes v1alpha2. Objects of other kinds and of v1beta2 are printed as
    they are. What could not be carried over is said on standard error: the object, the field, and what to do about it.

    \b
    Examples:
      nagaya convert -f cluster.yaml > cluster-v1beta2.yaml
      nagaya convert -f manifests/ --strict | kubectl apply -f -
      kubectl get machines.v1beta1.cluster.x-k8s.io -o yaml | nagaya convert -f -
    """
    from nagaya.api.conversion import convert as conversion
    from nagaya.api.conversion import manifests
    from nagaya.api.conversion.v1alpha1.infrastructure import Infrastructure

    try:
        objects = [
            each
            for source in sources
            for name, text in texts(source, recursive=False)
            for each in manifests.read(text, name)
        ]
    except manifests.ManifestError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}.") from error
    if not objects:
        click.echo(f"note: there is no object in {', '.join(sources)}.", err=True)
    result = conversion.convert(objects, Infrastructure(infrastructure_api_version, provider))
    click.echo(printed_manifests(result.objects, output), nl=False)
    for finding in result.findings:
        click.echo(f"{'lost' if finding.loss else 'note'}: {finding}", err=True)
    if strict and not result.lossless:
        sys.exit(1)
