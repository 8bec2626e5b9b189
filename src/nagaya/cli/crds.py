"""`nagaya crds`: the definitions of all kinds, to be installed in any Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import yaml

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.cli.parts import chosen


@click.command()
@click.option(
    "--only",
    metavar="PART,...",
    callback=chosen(PARTS),
    help=f"Only the kinds of these parts: {', '.join(PARTS)}. Leave out those whose kinds another provider brings.",
)
def crds(only: tuple[str, ...]) -> None:
    """Print the CustomResourceDefinitions of Nagaya's kinds as YAML.

    They make a Kubernetes of yours know them. Server-side, because they are larger than what kubectl can remember in an
    annotation. After that, `kubectl explain machinedeployment.spec` says what each field does.

    \b
    Examples:
      nagaya crds | kubectl apply --server-side -f -
      nagaya crds --only infrastructure-proxmox,ipam > kinds.yaml
    """
    click.echo("".join(f"---\n{_yaml(render(each))}" for part in only for each in PARTS[part]), nl=False)


class _Plain(yaml.CSafeDumper):
    """Writes a value that occurs twice in full: anchors are hard to read."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
