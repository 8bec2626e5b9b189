"""How a command that reads the management API begins and ends: it is reached one way, and fails in one way."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.screen import note
from nagaya.cli.output.unanswered import better_kubeconfig, unanswered, unusable

if TYPE_CHECKING:
    from nagaya.insight.picture.kinds import Kinds
    from nagaya.insight.picture.member import Member
    from nagaya.kube.client import Client
    from nagaya.world import World

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Management:
    """Which management API is meant, as it was said on the command line."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None


@dataclass(slots=True)
class Session:
    """One command at work."""

    client: Client
    world: World
    server: str
    default_namespace: str
    management: Management

    @property
    def namespace(self) -> str:
        """The one that was asked for, or the kubeconfig's."""
        return self.management.namespace or self.default_namespace or "default"

    async def kinds(self) -> Kinds:
        """The kinds of Cluster API that there are. Raises Ended if there are none."""
        from nagaya.insight.picture.read import read_kinds

        kinds = await read_kinds(self.client)
        if kinds.clusters is None:
            raise Ended(
                f"The API at {self.server} knows no Clusters: it is no management API yet. Install the definitions: "
                "nagaya crds | kubectl apply --server-side -f -, or start `nagaya controllers --install-crds`. "
                "If you meant another one, name it with --kubeconfig or --context."
            )
        return kinds

    async def cluster(self, kinds: Kinds, name: str) -> Member:
        """The Cluster of a name. Raises Ended with what was probably meant."""
        from nagaya.insight.picture.read import read_cluster
        from nagaya.insight.picture.search import not_found
        from nagaya.kube.errors import NotFound
        from nagaya.kube.key import Key

        try:
            return await read_cluster(self.client, kinds, self.namespace, name)
        except NotFound:
            there, whole = await self.all_clusters(kinds)
            raise Ended(not_found(Key(self.namespace, name), [Key.of(each) for each in there], whole)) from None

    async def all_clusters(self, kinds: Kinds) -> tuple[list[Member], bool]:
        """The Clusters of all namespaces, as far as they may be read, and whether all may."""
        from nagaya.insight.picture.read import read_clusters
        from nagaya.kube.errors import Forbidden

        try:
            return await read_clusters(self.client, kinds), True
        except Forbidden:
            return await read_clusters(self.client, kinds, self.namespace), False


def management_options(command: Command) -> Command:
    """`--kubeconfig`, `--context` and `-n`, handed on as one value, `management`."""
    where = click.option("-n", "--namespace", metavar="NAMESPACE", help="Where it is.  [default: the kubeconfig's]")
    return where(api_options(command))


def api_options(command: Command) -> Command:
    """The same without `-n`, for commands about a whole management API."""
    from functools import wraps

    @wraps(command)
    def wrapped(*, kubeconfig: Path | None, context: str | None, namespace: str | None = None, **rest: Any) -> Any:
        return command(management=Management(kubeconfig, context, namespace), **rest)

    options = (
        click.option(
            "--kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help="How to reach the management API.  [default: $KUBECONFIG, ~/.kube/config, or that of `nagaya up`]",
        ),
        click.option("--context", metavar="NAME", help="The context of the kubeconfig.  [default: its current one]"),
    )
    found: Command = wrapped
    for option in reversed(options):
        found = option(found)
    return found


def run(management: Management, work: Callable[[Session], Awaitable[int | None]]) -> None:
    """Do a command's work to its end, good or bad."""
    import asyncio

    from nagaya.kube.decoding import Undecodable
    from nagaya.kube.errors import ApiError, Forbidden, Unauthorized
    from nagaya.kube.transport import NoAnswer, NoCredentials

    # What cannot be followed is shown by the command itself; the log would write across it.
    logging.getLogger("nagaya").addHandler(logging.NullHandler())
    server = ""

    async def whole() -> int | None:
        nonlocal server
        session = _session(management)
        server = session.server
        try:
            return await work(session)
        finally:
            await session.client.close()

    try:
        code = asyncio.run(whole())
    except Ended as ended:
        _fail(str(ended), ended.code)
    except NoCredentials as error:
        _fail(f"You cannot prove who you are to {server}: {error.why}. Correct the user of your kubeconfig.")
    except Undecodable as error:
        _fail(str(error))
    except NoAnswer as error:
        _fail(unanswered(error))
    except Unauthorized as error:
        _fail(f"{server} does not know you: {_said(error)}. Take a newer kubeconfig. {better_kubeconfig()}")
    except Forbidden as error:
        _fail(f"You may not read this: {_said(error)}. Ask for a role that allows it.")
    except ApiError as error:
        _fail(f"{str(error).rstrip('.')}.")
    except KeyboardInterrupt:
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    else:
        if code:
            raise SystemExit(int(code))


def _session(management: Management) -> Session:
    from nagaya.cli.controllers import connection
    from nagaya.cli.usual_kubeconfig import usual_kubeconfig
    from nagaya.kube.client import Client
    from nagaya.kube.http import HttpTransport
    from nagaya.world import World

    try:
        found = connection(usual_kubeconfig(management.kubeconfig), management.context)
    except click.ClickException as error:
        raise Ended(unusable(error.message)) from error
    world = World()
    client = Client(HttpTransport(found, world=world), world=world, field_manager="nagaya-cli")
    return Session(client, world, found.server, found.namespace, management)


def _said(error: Any) -> str:
    return str(error.message or error).rstrip(".")


def _fail(sentence: str, code: ExitCode = ExitCode.PROBLEM) -> NoReturn:
    note(f"Error: {sentence}")
    raise SystemExit(int(code)) from None
