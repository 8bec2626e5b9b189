"""The management API, as commands about Proxmox VE reach it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.unanswered import unanswered, unusable
from nagaya.cli.usual_kubeconfig import usual_kubeconfig

if TYPE_CHECKING:
    from nagaya.kube.client import Client
    from nagaya.kube.errors import ApiError
    from nagaya.kube.transport import NoAnswer
    from nagaya.world import World

NAME: Final = "proxmox"
NAMESPACE: Final = "default"
"""Where nobody says another."""
Command = Callable[..., Any]


def management_options(command: Command) -> Command:
    """--kubeconfig, --context, --namespace. What is not said of the last is what the kubeconfig says."""

    @wraps(command)
    def wrapped(*, kubeconfig: Path | None, context: str | None, namespace: str | None, **rest: Any) -> Any:
        where = namespace or _usual_namespace(kubeconfig, context)
        return command(kubeconfig=kubeconfig, context=context, namespace=where, **rest)

    options = (
        click.option(
            "--kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help="How to reach the management API.  [default: $KUBECONFIG, ~/.kube/config, or that of `nagaya up`]",
        ),
        click.option("--context", help="The context of the kubeconfig to use.  [default: its current one]"),
        click.option(
            "-n", "--namespace", metavar="NAMESPACE", help="Where the connection is kept.  [default: the kubeconfig's]"
        ),
    )
    found: Command = wrapped
    for option in reversed(options):
        found = option(found)
    return found


def _usual_namespace(kubeconfig: Path | None, context: str | None) -> str:
    """The kubeconfig's. One that cannot be used is told by whoever needs it: not every command does."""
    from nagaya.cli.controllers import connection

    try:
        return connection(usual_kubeconfig(kubeconfig), context).namespace or NAMESPACE
    except click.ClickException:
        return NAMESPACE


def management_client(kubeconfig: Path | None, context: str | None, world: World) -> Client:
    """A client. Nothing is asked yet."""
    from nagaya.cli.controllers import connection
    from nagaya.kube.client import Client
    from nagaya.kube.http import HttpTransport

    try:
        found = connection(usual_kubeconfig(kubeconfig), context)
        return Client(HttpTransport(found, world=world), world=world)
    except click.ClickException as error:
        raise Ended(unusable(error.message), ExitCode.MANAGEMENT_API) from error


def unhelpful(error: ApiError | NoAnswer) -> Ended:
    """How a command ends to which the management API gave no good answer."""
    from nagaya.kube.errors import NotFound
    from nagaya.kube.transport import NoAnswer

    another = "or name another with --kubeconfig or --context."
    if isinstance(error, NoAnswer):
        return Ended(unanswered(error), ExitCode.MANAGEMENT_API)
    if isinstance(error, NotFound):
        install = "`nagaya crds | kubectl apply --server-side -f -`"
        why = f"does not know ProxmoxConnections. Start `nagaya up`, install the definitions ({install}), {another}"
    else:
        why = f"refuses it: {str(error).rstrip('.')}."
    return Ended(f"The management API {why}", ExitCode.MANAGEMENT_API)
