"""`nagaya create`: from a few words to a cluster."""

from __future__ import annotations

from typing import Any

import click

from nagaya.cli.output.document import JSON, YAML
from nagaya.cli.output.session import Management, management_options


@click.group()
def create() -> None:
    """Make a cluster from a few words."""


@create.command()
@click.argument("name")
@click.option("--infrastructure", type=click.Choice(["proxmox", "simulated"]), help="Where its machines are.")
@click.option(
    "--control-plane",
    type=click.Choice(["hosted", "kubeadm"]),
    help="Where its API is: beside Nagaya, without machines, or on machines of its own.",
)
@click.option("--workers", type=click.IntRange(0, 1000), help="How many workers.  [default: 2]")
@click.option(
    "--control-planes",
    type=click.IntRange(1, 9),
    help="How many machines, or replicas if it is hosted, the control plane has.  [default: 1]",
)
@click.option("--version", help="The Kubernetes version, in full.  [default: v1.36.3, or what the templates have]")
@click.option(
    "--connection", default="", metavar="NAME", help="Proxmox: the ProxmoxConnection.  [default: the only one]"
)
@click.option("--dhcp", is_flag=True, help="Proxmox: machines get their addresses from the network's DHCP server.")
@click.option("--pool", default="", metavar="NAME", help="Proxmox: machines get addresses of this pool.")
@click.option(
    "--addresses",
    default="",
    metavar="RANGE,...",
    help="Proxmox: machines get these, such as 10.0.0.20-10.0.0.39. The cluster gets a pool of its own.",
)
@click.option("--gateway", default="", metavar="ADDRESS", help="With --addresses: the router of their network.")
@click.option(
    "--prefix", type=click.IntRange(1, 128), default=24, show_default=True, help="With --addresses: of their network."
)
@click.option("--dns", default="", metavar="ADDRESS,...", help="With --addresses and --pool: name servers.")
@click.option("--endpoint", default="", metavar="ADDRESS", help="Proxmox with kubeadm: where the API will answer.")
@click.option(
    "--endpoint-pool",
    default="",
    metavar="NAME",
    help="Proxmox with kubeadm: take that address from this pool.  [default: that of --pool]",
)
@click.option("--bridge", default="", metavar="NAME", help="Proxmox: of the machines.  [default: the connection's]")
@click.option("--cores", type=click.IntRange(1, 512), default=2, show_default=True, help="Proxmox: of each machine.")
@click.option(
    "--memory",
    type=click.IntRange(512),
    default=4096,
    show_default=True,
    metavar="MIB",
    help="Proxmox: of each machine.",
)
@click.option(
    "--disk", type=click.IntRange(5), default=20, show_default=True, metavar="GB", help="Proxmox: of each machine."
)
@click.option(
    "--template-tag",
    "template_tags",
    default="",
    metavar="TAG,...",
    help="Proxmox: which templates, beside the tag of the version.",
)
@click.option(
    "--image",
    default="",
    metavar="TAG",
    help="Proxmox: make machines of the plain image with this tag, such as debian-13, and install Kubernetes at boot.",
)
@click.option("-o", "--output", type=click.Choice([YAML, JSON]), help="Print the manifests, and make nothing.")
@click.option("--dry-run", is_flag=True, help="Have the management API check everything, and make nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@management_options
def cluster(management: Management, **given: Any) -> None:
    """Make the cluster NAME: ask for what is missing, check all of it, show the objects, and apply them.

    Every object is tried by the management API before the first is made. What exists is never changed: the same
    command again makes what is missing, and nothing if nothing is. Questions are asked on a terminal only.

    \b
    Examples:
      nagaya create cluster first --infrastructure simulated --control-plane kubeadm --workers 2
      nagaya create cluster shop --infrastructure proxmox --control-plane hosted --workers 3 --dhcp
      nagaya create cluster shop --infrastructure proxmox --control-plane kubeadm --control-planes 3 \\
          --addresses 10.0.0.20-10.0.0.39 --gateway 10.0.0.1 --dns 10.0.0.1 --endpoint 10.0.0.10
      nagaya create cluster first --infrastructure simulated --control-plane kubeadm -o yaml > first.yaml
    """
    from nagaya.cli.create_run import Given, create_cluster

    create_cluster(management, Given(**given))
