"""`nagaya proxmox check`: whether connections work, and if not, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nagaya.cli.output.document import output_option, printed
from nagaya.cli.output.ended import Ended
from nagaya.cli.output.exit_code import ExitCode
from nagaya.cli.proxmox.api import management_client, management_options, unhelpful
from nagaya.cli.proxmox.failure import finish
from nagaya.foreign_text import escape_line

if TYPE_CHECKING:
    from nagaya.api.proxmox.proxmox_connection import ProxmoxConnection
    from nagaya.infrastructure.proxmox.connection.examination import Examined
    from nagaya.kube.client import Client
    from nagaya.world import World

_MARKS: Mapping[str, str] = {"good": "ok  ", "warning": "warn", "bad": "BAD ", "unknown": "?   "}


@click.command()
@click.argument("name", required=False)
@management_options
@output_option
def check(name: str | None, kubeconfig: Path | None, context: str | None, namespace: str, output: str | None) -> None:
    """Look at a ProxmoxConnection, or all of a namespace: endpoints, certificates, credentials, version, quorum, hosts,
    privileges, storages, templates, clocks.

    It asks with the stored token, as the controllers do, and changes nothing. Each missing privilege is named with the
    command that grants it. Exit codes: 0 all is well or there are only warnings, 1 something is wrong, 4 the management
    API does not answer or has no such connection.

    \b
    Examples:
      nagaya proxmox check
      nagaya proxmox check proxmox -n team-a -o json
    """
    finish(_run(name, kubeconfig, context, namespace, output))


async def _run(
    name: str | None, kubeconfig: Path | None, context: str | None, namespace: str, output: str | None
) -> int:
    from nagaya.world import World

    world = World()
    client = management_client(kubeconfig, context, world)
    try:
        found = {
            each.metadata.name: await _examined(client, each, world)
            for each in await _connections(client, namespace, name)
        }
    finally:
        await client.close()
    if output is not None:
        documents = [_document(namespace, each, looked) for each, looked in found.items()]
        click.echo(printed(documents, output), nl=False)
    else:
        for each, looked in found.items():
            _print(f"{namespace}/{each}", looked)
    return int(ExitCode.PROBLEM) if any(_is_bad(looked) for looked in found.values()) else 0


async def _connections(client: Client, namespace: str, name: str | None) -> list[ProxmoxConnection]:
    from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
    from nagaya.infrastructure.proxmox.connection.command import connect_command
    from nagaya.kube.errors import ApiError
    from nagaya.kube.transport import NoAnswer

    try:
        listed = (await client.list(PROXMOX_CONNECTIONS, namespace)).items
    except (ApiError, NoAnswer) as error:
        raise unhelpful(error) from error
    found = [each for each in listed if name in (None, each.metadata.name)]
    if not found:
        what = f"ProxmoxConnection {name}" if name else "ProxmoxConnection"
        make = connect_command(namespace, name or "")
        raise Ended(f"Namespace {namespace} has no {what}: make one with `{make}`.", ExitCode.MANAGEMENT_API)
    return found


async def _examined(client: Client, connection: ProxmoxConnection, world: World) -> list[Examined]:
    from nagaya.infrastructure.proxmox.client import Proxmox
    from nagaya.infrastructure.proxmox.connection.establishing.certificate import shown
    from nagaya.infrastructure.proxmox.connection.examination import Examined, Verdict, examine
    from nagaya.infrastructure.proxmox.connection.reference import connection_reference
    from nagaya.infrastructure.proxmox.connection.source import Unusable, facts_of, source_by

    source = source_by(connection)
    try:
        facts = await facts_of(client, connection_reference(connection), source)
    except Unusable as error:
        return [Examined("connection", Verdict.BAD, str(error))]
    proxmox = Proxmox(facts, world)
    try:
        looked = await examine(connection, facts, proxmox, shown)
    finally:
        await proxmox.close()
    return [Examined("connection", Verdict.GOOD, f"Secret {source.secret} can be used."), *looked]


def _is_bad(looked: list[Examined]) -> bool:
    return any(each.verdict == "bad" for each in looked)


def _print(name: str, looked: list[Examined]) -> None:
    click.echo(f"ProxmoxConnection {name}:")
    width = max(len(each.what) for each in looked)
    for each in looked:
        click.echo(escape_line(f"  {_MARKS[each.verdict]}  {each.what:<{width}}  {each.sentence}"))
        for command in each.commands:
            click.echo(escape_line(f"        {command}"))


def _document(namespace: str, name: str, looked: list[Examined]) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "name": name,
        "good": not _is_bad(looked),
        "checks": [
            {
                "what": each.what,
                "verdict": str(each.verdict),
                "sentence": each.sentence,
                **({"commands": list(each.commands)} if each.commands else {}),
            }
            for each in looked
        ],
    }
