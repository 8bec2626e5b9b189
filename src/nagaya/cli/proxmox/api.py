"""The management API, as commands about Proxmox VE reach it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.usual_kubeconfig import usual_kubeconfig

if TYPE_CHECKING:
    from nagaya.kube.client import Client
    from nagaya.kube.errors import ApiError
    from nagaya.kube.transport import NoAnswer
    from nagaya.world import World

NAME: Final = "proxmox"
Command = Callable[..., Any]


def management_options(command: Command) -> Command:
    """--kubeconfig, --context, --namespace."""
    options = (
        click.option(
            "--kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help="How to reach the management API.  [default: $KUBECONFIG, ~/.kube/config, or that of `nagaya up`]",
        ),
        click.option("--context", help="The context of the kubeconfig to use.  [default: its current one]"),
        click.option("-n", "--namespace", default="default", show_default=True, help="Where the connection is kept."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def management_client(kubeconfig: Path | None, context: str | None, world: World) -> Client:
    """A client. Nothing is asked yet."""
    from nagaya.cli.controllers import connection
    from nagaya.kube.client import Client
    from nagaya.kube.http import HttpTransport

    try:
        found = connection(usual_kubeconfig(kubeconfig), context)
        return Client(HttpTransport(found, world=world), world=world)
    except click.ClickException as error:
        raise Ended(
            f"{error.message.rstrip('.')}. Nothing was made in Proxmox VE. Start the management API with `nagaya up`.",
            ExitCode.MANAGEMENT_API,
        ) from error


def unhelpful(error: ApiError | NoAnswer) -> Ended:
    """How a command ends to which the management API gave no good answer."""
    from nagaya.kube.errors import NotFound
    from nagaya.kube.transport import NoAnswer

    another = "or name another with --kubeconfig or --context."
    if isinstance(error, NoAnswer):
        why = f"does not answer: {error.why.rstrip('.')}. Start it with `nagaya up`, {another}"
    elif isinstance(error, NotFound):
        install = "`nagaya crds | kubectl apply --server-side -f -`"
        why = f"does not know ProxmoxConnections. Start `nagaya up`, install the definitions ({install}), {another}"
    else:
        why = f"refuses it: {str(error).rstrip('.')}."
    return Ended(f"The management API {why}", ExitCode.MANAGEMENT_API)
