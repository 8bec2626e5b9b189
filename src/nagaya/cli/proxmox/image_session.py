"""What the commands of `nagaya proxmox image` share: their way to Proxmox VE, and how they say what happens."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nagaya.cli.output.document import printed
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.output.screen import note
from nagaya.cli.proxmox.api import management_client, management_options, unhelpful
from nagaya.cli.proxmox.ask import secret_from, trust_given
from nagaya.foreign_text import escape_line

if TYPE_CHECKING:
    from nagaya.infrastructure.proxmox.client import Proxmox
    from nagaya.infrastructure.proxmox.image.way import Way
    from nagaya.kube.client import Client

Command = Callable[..., Any]
_STEP: Final = 10
"""Of a hundred: how much further something has to be for another line."""


@dataclass(frozen=True, slots=True)
class Given:
    """How Proxmox VE is reached, as the command line says it."""

    connection: str
    url_api: str
    token: str
    secret_file: str | None
    user: str
    password_file: str | None
    ca_file: Path | None
    fingerprint: str | None
    insecure: str | None
    kubeconfig: Path | None
    context: str | None
    namespace: str


@dataclass(frozen=True, slots=True)
class Session:
    """A way to Proxmox VE that is open, and one to the management API if there is one."""

    proxmox: Proxmox
    way: Way
    client: Client | None


def way_options(command: Command) -> Command:
    """The options by which Proxmox VE is reached; they arrive as one value."""
    options = (
        click.option(
            "--connection",
            default="",
            metavar="NAME",
            help="The ProxmoxConnection to use.  [default: the only one of the namespace]",
        ),
        click.option("--url-api", default="", metavar="URL", help="Use this Proxmox VE, without any management API."),
        click.option("--token", default="", metavar="USER@REALM!NAME", help="With --url-api: the API token."),
        click.option("--secret-file", metavar="FILE", help="Its secret; - is standard input.  [default: ask for it]"),
        click.option("--user", default="", metavar="USER@REALM", help="With --url-api: a user in place of a token."),
        click.option("--password-file", metavar="FILE", help="His password; - is standard input."),
        click.option(
            "--ca-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="With --url-api: the authority of the hosts' certificates (/etc/pve/pve-root-ca.pem).",
        ),
        click.option("--fingerprint", metavar="SHA256", help="With --url-api: the fingerprint of the certificate."),
        click.option("--insecure", metavar="REASON", help="With --url-api: trust whoever answers, for this reason."),
    )

    @wraps(command)
    def wrapped(**all_given: Any) -> Any:
        names = {each.name for each in fields(Given)}
        way = Given(**{name: all_given.pop(name) for name in names})
        return command(way=way, **all_given)

    made: Command = management_options(wrapped)
    for option in reversed(options):
        made = option(made)
    return made


class Teller:
    """Says on standard error what happens; of what takes long, only every so often how far it is."""

    def __init__(self) -> None:
        self._far: dict[tuple[str, str], int] = {}

    def __call__(self, host: str, what: str) -> None:
        name, _, far = what.partition(": ")
        if far.endswith("%") and far[:-1].isdigit():
            last = self._far.get((host, name), -_STEP)
            if 0 <= int(far[:-1]) - last < _STEP:
                return
            self._far[host, name] = int(far[:-1])
        note(escape_line(f"{host}: {what}" if host else what))


def show(shown: dict[str, Any], output: str | None, text: str) -> None:
    """Print for programs or for people, as was asked."""
    click.echo(f"{text}\n" if output is None else printed(shown, output), nl=False)


async def in_session(given: Given, work: Callable[[Session], Awaitable[int | None]]) -> int | None:
    """Do something with a way to Proxmox VE. What fails ends the command with a sentence."""
    from nagaya.infrastructure.proxmox.client.errors import HostUnreachable, ProxmoxError, Unauthorized
    from nagaya.infrastructure.proxmox.connection.look import is_distrusted
    from nagaya.infrastructure.proxmox.image.users import Unaware
    from nagaya.kube.errors import ApiError
    from nagaya.kube.transport import NoAnswer

    _end_politely()
    try:
        async with _opened(given) as session:
            return await work(session)
    except Unauthorized as error:
        raise Ended(str(error), ExitCode.REFUSED) from error
    except HostUnreachable as error:
        remedy = "Run the same again: it goes on where it was."
        if is_distrusted(error):
            remedy = "Say by what the host is known: --fingerprint (`pvenode cert info` shows it), or --ca-file."
        raise Ended(f"{error} {remedy}", ExitCode.UNREACHABLE) from error
    except ProxmoxError as error:
        raise Ended(str(error), ExitCode.PROBLEM) from error
    except Unaware as error:
        raise Ended(str(error), ExitCode.MANAGEMENT_API) from error
    except (ApiError, NoAnswer) as error:
        raise unhelpful(error) from error


def _end_politely() -> None:
    """A polite kill is treated as Ctrl-C: what runs in Proxmox VE goes on, and the next run finds it."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, signal.raise_signal, signal.SIGINT)


@asynccontextmanager
async def _opened(given: Given) -> AsyncIterator[Session]:
    from nagaya.infrastructure.proxmox.client import Proxmox
    from nagaya.infrastructure.proxmox.image.way import NoWay, by_connection, directly
    from nagaya.world import World

    world = World()
    if given.url_api and (given.connection or bool(given.token) == bool(given.user)):
        raise click.UsageError("Give --connection alone, or --url-api with either --token or --user.")
    if not given.url_api and any((given.token, given.user, given.fingerprint, given.ca_file, given.insecure)):
        raise click.UsageError("--token, --user, --fingerprint, --ca-file and --insecure belong to --url-api.")
    client = None
    if not given.url_api or given.kubeconfig is not None:
        client = management_client(given.kubeconfig, given.context, world)
    try:
        try:
            if given.url_api:
                secret = secret_from(given.secret_file, f"Secret of the token {given.token}") if given.token else ""
                password = secret_from(given.password_file, f"Password of {given.user}") if given.user else ""
                trust = trust_given(given.ca_file, given.fingerprint, given.insecure)
                way = directly(
                    given.url_api, token=given.token, secret=secret, user=given.user, password=password, trust=trust
                )
            else:
                assert client is not None
                way = await by_connection(client, given.namespace, given.connection)
        except NoWay as error:
            raise Ended(str(error), ExitCode.PROBLEM) from error
        proxmox = Proxmox(way.facts, world)
        try:
            yield Session(proxmox, way, client)
        finally:
            await proxmox.close()
    finally:
        if client is not None:
            await client.close()
